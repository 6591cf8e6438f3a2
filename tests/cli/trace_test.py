"""--trace of explain, check and run: the launches, blocks and waits of a run in Chrome's format; and
the resources of kernels in explain's report."""

import json
import shutil
import unittest

import program

NVCC = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")

KERNEL = """\
__global__ void uneven(float* x) {
  __shared__ float tile[64];
  for (int i = 0; i <= threadIdx.x / 32 * 8; ++i) tile[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x] + i;
  __syncthreads();
  x[blockIdx.x * 64 + threadIdx.x] = tile[63 - threadIdx.x];
}
__global__ void large(float* x, int at) {
  float own[64];
  for (int i = 0; i < 64; ++i) own[i] = i;
  for (int i = 0; i < 64; ++i) own[static_cast<int>(x[i]) % 64] += x[i * at];
  x[threadIdx.x] = own[at];
}
"""
LAUNCH = ["--grid", "3", "--block", "64", "--arg", "f32[4096]=iota"]


class Trace(program.ProgramTest):
    def setUp(self):
        super().setUp()
        with open(self.path("k.cu"), "w", encoding="utf-8") as file:
            file.write(KERNEL)

    def trace(self, *options, command="explain", file="k.cu"):
        """The result and the events, which have what viewers ask for."""
        result = self.run_program(command, file, *options, "--trace", "t.json")
        with open(self.path("t.json"), encoding="utf-8") as traced:
            events = json.load(traced)["traceEvents"]
        for event in events:
            self.assertIn(event["ph"], ("M", "X"))
            for field in ("pid", "tid", *(("ts", "dur") if event["ph"] == "X" else ())):
                self.assertIsInstance(event[field], int)
                self.assertGreaterEqual(event[field], 0)
        return result, events

    def test_the_early_warp_waits_for_the_late_one(self):
        result, events = self.trace("--kernel", "uneven", *LAUNCH)
        self.assertEqual(result.code, 0)
        tracks = {event["tid"]: event["args"]["name"] for event in events
                  if event["name"] == "thread_name"}
        self.assertEqual(sorted(tracks.values()),
                         [f"block ({block},0,0) warp {warp}" for block in range(3)
                          for warp in range(2)] + ["launch"])
        slices = [event for event in events if event["ph"] == "X"]
        waits = [event for event in slices if event["name"] == "waits at k.cu:4"]
        self.assertEqual(sorted(tracks[event["tid"]] for event in waits),
                         [f"block ({block},0,0) warp 0" for block in range(3)])
        launch, = [event for event in slices if event["tid"] == 0]
        self.assertEqual((launch["name"], launch["args"]["grid"]), ("uneven", "3 x 1 x 1"))
        self.assertEqual(launch["ts"] + launch["dur"],
                         max(event["ts"] + event["dur"] for event in slices))
        for event in slices:
            self.assertEqual(set(event), {"ph", "name", "cat", "pid", "tid", "ts", "dur", "args"})

    def test_it_is_the_same_in_every_run(self):
        self.assertEqual(self.trace("--kernel", "uneven", *LAUNCH)[1],
                         self.trace("--kernel", "uneven", *LAUNCH)[1])

    def test_each_command_writes_the_same_trace(self):
        explained = self.trace("--kernel", "uneven", *LAUNCH)[1]
        for command in ("check", "run"):
            with self.subTest(command):
                result, events = self.trace("--kernel", "uneven", *LAUNCH, command=command)
                self.assertEqual(result.code, 0, result.err)
                self.assertEqual(events, explained)

    def test_a_launch_that_is_refused_leaves_an_empty_trace(self):
        result, events = self.trace("--kernel", "uneven", "--grid", "1", "--block", "2048",
                                    *LAUNCH[4:], command="check")
        self.assertEqual((result.code, events), (1, []))

    def test_one_order_can_be_traced_not_several(self):
        several = ("check", "k.cu", "--kernel", "uneven", *LAUNCH, "--schedules", "4", "--trace",
                   "t.json")
        self.assert_fails(2, "--trace and --schedules exclude each other; --schedule SEED traces "
                             "one order", *several)
        result, events = self.trace("--kernel", "uneven", *LAUNCH, "--schedule", "3",
                                    command="check")
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual(len([event for event in events if event.get("cat") == "launch"]), 1)

    @unittest.skipUnless(NVCC, "nvcc is not installed")
    def test_a_program_has_its_launches(self):
        with open(self.path("main.cu"), "w", encoding="utf-8") as file:
            file.write("__global__ void fill(float* x) { x[threadIdx.x] = 1; }\n"
                       "int main() {\n  float* x;\n  cudaMalloc(&x, 256);\n"
                       "  for (int i = 0; i < 3; ++i) fill<<<1, 64>>>(x);\n"
                       "  cudaDeviceSynchronize();\n  cudaFree(x);\n}\n")
        for command in ("explain", "check", "run"):
            with self.subTest(command):
                result, events = self.trace(command=command, file="main.cu")
                self.assertEqual(result.code, 0, result.err)
                slices = [event for event in events if event["ph"] == "X"]
                self.assertEqual([event["name"] for event in slices], ["fill"] * 3)
                self.assertEqual({event["args"]["place"] for event in slices}, {"main.cu:5"})
                for first, second in zip(slices, slices[1:]):
                    self.assertGreater(first["dur"], 0)
                    self.assertEqual(first["ts"] + first["dur"], second["ts"])

    def test_a_file_that_cannot_be_written_is_told_before_the_run(self):
        for command in ("explain", "check", "run"):
            result = self.run_program(command, "k.cu", "--kernel", "uneven", *LAUNCH, "--trace",
                                      "no/t.json")
            self.assertEqual((result.code, result.out), (4, ""))
            self.assertEqual(len(result.err.splitlines()), 1)


class Resources(Trace):
    def kernel(self, *options):
        result = self.run_program("explain", "k.cu", *options, "--json", "-")
        kernel, = json.loads(result.out)["by_kernel"]
        return kernel

    def test_registers_and_occupancy(self):
        kernel = self.kernel("--kernel", "uneven", *LAUNCH)
        self.assertEqual((kernel["kernel"], kernel["launches"], kernel["static_shared_bytes"],
                          kernel["local_bytes_per_thread"]), ("uneven", 1, 256, 0))
        asked = json.loads(self.run_program(
            "occupancy", "k.cu", "--kernel", "uneven", "--threads", "64", "--json", "-").out)
        self.assertEqual((kernel["blocks_per_sm"], kernel["warps_per_sm"]),
                         (asked["blocks_per_sm"], asked["warps_per_sm"]))
        self.assertGreater(kernel["registers_per_thread"], 4)
        text = self.run_program("explain", "k.cu", "--kernel", "uneven", *LAUNCH).out
        self.assertIn(f"  uneven: {kernel['registers_per_thread']} registers and no local memory a "
                      "thread", text)

    def test_local_memory_is_told(self):
        kernel = self.kernel("--kernel", "large", *LAUNCH, "--arg", "i32:1")
        self.assertGreaterEqual(kernel["local_bytes_per_thread"], 256)

    def test_of_ptx_there_are_no_registers(self):
        with open(self.path("k.ptx"), "w", encoding="utf-8") as file:
            file.write(".version 7.0\n.target sm_80\n.address_size 64\n"
                       ".visible .entry one(.param .u64 x) { .reg .b64 %rd<2>;\n"
                       "ld.param.u64 %rd1, [x]; st.global.u32 [%rd1], 1; ret; }\n")
        command = ("explain", "k.ptx", "--grid", "1", "--block", "1", "--arg", "i32[1]=zeros")
        result = self.run_program(*command)
        self.assertIn("of PTX the registers are not known", result.out, result.err)
        kernel, = json.loads(self.run_program(*command, "--json", "-").out)["by_kernel"]
        self.assertNotIn("registers_per_thread", kernel)
        budget = self.run_program(*command, "--assert", "registers_per_thread < 64")
        self.assertEqual(budget.code, 1)
        self.assertIn("registers_per_thread is not known here", budget.out)


if __name__ == "__main__":
    program.main()
