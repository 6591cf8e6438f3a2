"""Large launches and long programs: checks that end early or go on later, launches that are not
watched, blocks that are not counted, and the time that is left."""

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import time
import unittest

import program

NVCC = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
needs_nvcc = unittest.skipUnless(NVCC, "nvcc is not installed, which compiles whole programs")

FAULTS = """__global__ void k(int* x) {
  if (threadIdx.x == 1) x[100] = 1;
  if (threadIdx.x == 2) x[200] = 1;
  if (threadIdx.x == 3) x[300] = 1;
}
"""

# Launches 1 and 5 write beyond the array, in lines 4 and 8. While there is a file "slow", launch 3
# takes for ever; while there is a file "other", launch 2 has two blocks, which race.
STEPS = """#include <cstdio>
__global__ void step(int* x, int n) { x[threadIdx.x] += n; }
__global__ void early(int* x) {
  x[threadIdx.x + 32] = 1;
}
__global__ void wait(volatile int* x, long n) { for (long i = 0; i < n; ++i) x[0] = x[1] + 1; }
__global__ void late(int* x) {
  x[threadIdx.x + 32] = 1;
}
bool exists(const char* name) {
  FILE* file = fopen(name, "r");
  if (file) fclose(file);
  return file;
}
int main() {
  int* x;
  cudaMalloc(&x, 128);
  cudaMemset(x, 0, 128);
  step<<<1, 32>>>(x, 1);
  early<<<1, 32>>>(x);
  step<<<exists("other") ? 2 : 1, 32>>>(x, 2);
  wait<<<1, 1>>>(x, exists("slow") ? 1L << 40 : 1);
  step<<<1, 32>>>(x, 3);
  late<<<1, 32>>>(x);
  printf("done\\n");
  return cudaFree(x) != cudaSuccess;
}
"""


CURED = STEPS.replace("threadIdx.x + 32", "threadIdx.x")


def watches(pid):
    """Whether the process has our run time."""
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
            return "libcudart" in file.read()
    except OSError:
        return False


class LongPrograms(program.SameFolderTest):
    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def json_of(self, *arguments, code):
        result = self.run_program(*arguments, "--json", "-")
        self.assertEqual(result.code, code, result.out + result.err)
        return json.loads(result.out)

    def lines_of(self, report):
        return [one["line"] for one in report["reports"]]


class FirstFindings(LongPrograms):
    LAUNCH = ("k.cu", "--grid", "1", "--block", "32", "--arg", "x=i32[32]=zeros")

    def setUp(self):
        super().setUp()
        self.write("k.cu", FAULTS)

    def test_of_a_kernel(self):
        self.assertEqual(self.lines_of(self.json_of("check", *self.LAUNCH, code=1)), [2, 3, 4])
        report = self.json_of("check", *self.LAUNCH, "--max-findings", "2", code=1)
        self.assertEqual(self.lines_of(report), [2, 3])
        self.assertFalse(report["complete"])
        self.assertEqual(report["left_out"], {"findings": 1, "blocks": 0, "launches": 0})
        result = self.run_program("check", *self.LAUNCH, "--max-findings", "2")
        self.assertIn("\nstopped after --max-findings; left out: 1 more finding\n2 errors; 1 block, ",
                      result.out)
        self.assertIn(" (a part of the run)\n", result.out)

    def test_nothing_is_left_out_where_there_is_no_more(self):
        for most in ("3", "100"):
            report = self.json_of("check", *self.LAUNCH, "--max-findings", most, code=1)
            self.assertEqual(self.lines_of(report), [2, 3, 4])
            self.assertTrue(report["complete"])
            self.assertNotIn("left_out", report)

    def test_of_several_launches(self):
        launch = {"grid": 1, "block": 32, "args": ["i32[32]=zeros"]}
        self.write("two.json", json.dumps([dict(launch, kernel="k")] * 3))
        report = self.json_of("check", "k.cu", "--launch", "two.json", "--max-findings", "3", code=1)
        self.assertEqual(report["left_out"], {"findings": 0, "blocks": 0, "launches": 2})
        self.assertEqual(report["launches"], 1)

    def test_suppressed_findings_would_count(self):
        self.write("accept.json", "[]")
        self.assert_fails(2, "--max-findings and --suppress exclude each other: suppressed findings "
                             "would count", "check", *self.LAUNCH, "--max-findings", "1",
                          "--suppress", "accept.json")

    @needs_nvcc
    def test_of_a_program(self):
        self.write("steps.cu", STEPS)
        report = self.json_of("check", "steps.cu", "--max-findings", "1", code=1)
        self.assertEqual(self.lines_of(report), [4])
        self.assertEqual(report["launches"], 2)
        self.assertEqual(report["left_out"], {"findings": 0, "blocks": 0, "launches": None})
        result = self.run_program("check", "steps.cu", "--max-findings", "1")
        self.assertEqual((result.code, result.err), (1, ""))
        self.assertIn("\nstopped after --max-findings; left out: the rest of the program\n", result.out)
        self.assertNotIn("signal", result.out)
        both = self.json_of("check", "steps.cu", "--max-findings", "3", code=1)
        self.assertEqual((self.lines_of(both), both["complete"]), ([4, 8], True))

    @needs_nvcc
    def test_a_long_launch_of_a_program_ends(self):
        self.write("long.cu", "__global__ void k(volatile int* x) {\n  x[32] = 1;\n"
                              "  for (long i = 0; i < 1L << 40; ++i) x[0] = x[1] + 1;\n}\n"
                              "int main() { int* x; cudaMalloc(&x, 128); k<<<5, 1>>>(x);\n"
                              "  return cudaDeviceSynchronize(); }\n")
        report = self.json_of("check", "long.cu", "--max-findings", "1", code=1)
        self.assertEqual(self.lines_of(report), [2])
        self.assertEqual(report["left_out"]["blocks"], 5)


@needs_nvcc
class SomeLaunches(LongPrograms):
    def setUp(self):
        super().setUp()
        self.write("steps.cu", STEPS)

    def test_check(self):
        for launches, lines, watched in (("1", [4], 1), ("0,2-4", [], 4), ("late,0", [8], 2),
                                         ("5-", [8], 1), ("early:0,step:2", [4], 2)):
            report = self.json_of("check", "steps.cu", "--launches", launches, code=1 if lines else 0)
            self.assertEqual(self.lines_of(report), lines, launches)
            self.assertEqual(report["launches_watched"], watched, launches)
            self.assertEqual(report["launches"], 6)
            self.assertEqual(report["watched"], launches.split(","))
        result = self.run_program("check", "steps.cu", "--launches", "0,step:1")
        self.assertIn("\nwatched: 2 of 6 launches (0, step:1); the others ran unwatched\n"
                      "no defects found; 6 launches of 4 kernels, ", result.out)

    def test_explain(self):
        self.write("steps.cu", CURED)
        whole = self.json_of("explain", "steps.cu", code=0)
        some = self.json_of("explain", "steps.cu", "--launches", "0,late", code=0)
        self.assertEqual([one["watched"] for one in some["launches"]],
                         [True, False, False, False, False, True])
        for index in (0, 5):
            self.assertEqual(some["launches"][index]["totals"], whole["launches"][index]["totals"])
        self.assertIsNone(some["launches"][1]["totals"])
        self.assertEqual({line["line"] for line in some["lines"]}, {2, 7, 8, 9})
        result = self.run_program("explain", "steps.cu", "--launches", "0,late")
        self.assertRegex(result.out, r"\n  1 +\d+ +early +1 +32 +\d+ +-? +-? *\n")
        self.assertIn("\n  watched: 2 of 6 launches (0, late); the others ran unwatched\n", result.out)
        self.assertEqual(self.json_of("explain", "steps.cu", "--launch", "5", code=0)["totals"],
                         whole["launches"][5]["totals"])

    def test_a_trace(self):
        self.write("steps.cu", CURED)
        self.run_program("run", "steps.cu", "--launches", "1-2", "--trace", "t.json")
        with open(self.path("t.json"), encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        self.assertEqual([event["name"] for event in events if event["ph"] == "X"],
                         ["early", "step"])

    def test_a_killed_command_leaves_no_program(self):
        """It would run for hours, on all cores, and nobody would see what it finds."""
        self.write("steps.cu", CURED)
        self.write("slow", "")
        for command in ("run", "check"):
            job = subprocess.Popen([program.TILESCOPE, command, "steps.cu"], cwd=self.folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            children = f"/proc/{job.pid}/task/{job.pid}/children"
            until = time.monotonic() + 60
            found = []
            while time.monotonic() < until and not found:
                time.sleep(0.3)
                with open(children, encoding="utf-8") as file:
                    found = [pid for pid in file.read().split() if watches(pid)]
            time.sleep(0.5)  # it has called the run time
            job.kill()
            job.wait()
            self.assertEqual(len(found), 1)
            while time.monotonic() < until and watches(found[0]):
                time.sleep(0.05)
            self.assertFalse(watches(found[0]), command)

    def test_a_name_that_could_be_the_code_of_a_type(self):
        """Unmangled, "rd" would be a double restrict."""
        self.write("steps.cu", STEPS.replace("late", "rd"))
        report = self.json_of("check", "steps.cu", "--launches", "rd", code=1)
        self.assertEqual((self.lines_of(report), report["launches_watched"]), ([8], 1))

    def test_failures_of_others_are_told(self):
        result = self.run_program("check", "steps.cu", "--launches", "0,late")
        self.assertEqual(result.code, 1)
        self.assertIn("tilescope: note: launch 1, early, failed and was not watched: 32 faulty "
                      "accesses were left out; --launches 1 says more\n", result.err)
        self.assertNotIn("launch 5", result.err)
        self.write("trap.cu", "__global__ void good() {}\n__global__ void bad() { __trap(); }\n"
                              "int main() { good<<<1, 1>>>(); bad<<<1, 1>>>();\n"
                              "  return cudaDeviceSynchronize() == cudaSuccess; }\n")
        result = self.run_program("check", "trap.cu", "--launches", "0")
        self.assertRegex(result.err, r"tilescope: note: launch 1, bad, failed and was not watched: "
                                     r"trap\S*.*; --launches 1 says more\n")

    def test_what_is_known_is_shown_all_the_same(self):
        """A launch that does not come is an error, but does not cost what others have shown."""
        result = self.run_program("check", "steps.cu", "--launches", "1,9")
        self.assertEqual(result.code, 2)
        self.assertIn("error: out-of-bounds at steps.cu:4\n", result.out)
        self.assertIn("tilescope: no launch 9: the program has 6 launches", result.err)
        result = self.run_program("check", "steps.cu", "--launches", "9")
        self.assertEqual((result.code, result.out), (2, ""))

    def test_launches_that_are_not_there(self):
        self.write("steps.cu", CURED)
        for command in ("run", "check", "explain"):
            result = self.run_program(command, "steps.cu", "--launches", "0,step:3")
            self.assertEqual(result.code, 2, result.out)
            self.assertIn("tilescope: no launch step:3: the program has 6 launches, numbered from "
                          "0; of its kernels: early (1), late (1), step (3), wait (1)\n", result.err)
        self.assertIn("no launch 6", self.run_program("check", "steps.cu", "--launches", "6").err)
        for wrong in ("x:", "3-1", "-3", "1,,2", "1x"):
            result = self.run_program("check", "steps.cu", "--launches", wrong)
            self.assertEqual(result.code, 2, wrong)
            self.assertIn("expected numbers from 0, kernels, or both", result.err)

    def test_a_kernel_alone_has_none(self):
        self.write("k.cu", FAULTS)
        self.assert_fails(2, "'--launches' is for a whole program, with a main() and without --kernel, "
                             "--grid and --arg; 'k.cu' is run as a kernel",
                          "check", "k.cu", *FirstFindings.LAUNCH[1:], "--launches", "0")


class SomeBlocks(LongPrograms):
    LAUNCH = ("k.cu", "--grid", "1000", "--block", "64", "--arg", "x=f32[64000]=random",
              "--arg", "y=f32[64000]=zeros")

    def setUp(self):
        super().setUp()
        # Every block reads its own count of elements, in steps of its own.
        self.write("k.cu", "__global__ void k(const float* x, float* y) {\n"
                           "  int i = blockIdx.x * 64 + threadIdx.x;\n"
                           "  float sum = 0;\n"
                           "  for (int j = 0; j < blockIdx.x * 7 % 31; ++j)\n"
                           "    sum += x[(i * (1 + blockIdx.x % 5) + j) % 64000];\n"
                           "  y[i] = sum;\n}\n")

    def test_estimates_are_marked(self):
        exact = self.json_of("explain", *self.LAUNCH, code=0)
        self.assertNotIn("estimate", exact)
        report = self.json_of("explain", *self.LAUNCH, "--blocks", "100:3", code=0)
        estimate = report["estimate"]
        self.assertEqual((estimate["blocks"], estimate["seed"], estimate["confidence"]),
                         (1000, 3, 0.95))
        self.assertTrue(90 <= estimate["blocks_counted"] <= 110)
        self.assertIsNone(report["unique_bytes_read"])
        for name in ("instructions", "thread_instructions", "branches", "fadd", "integer"):
            self.assertEqual(report["totals"][name], exact["totals"][name], name)
            self.assertNotIn(name, estimate["spread"])
        name = "global_load_sectors"
        self.assertGreater(estimate["spread"][name], 0)
        self.assertLessEqual(abs(report["totals"][name] - exact["totals"][name]),
                             2 * estimate["spread"][name])
        self.assertEqual(report["totals"]["global_store_sectors"],
                         exact["totals"]["global_store_sectors"])
        [line] = [one for one in report["lines"] if one["line"] == 5]
        self.assertEqual(line["spread"][name], estimate["spread"][name])

    def test_the_page(self):
        result = self.run_program("explain", *self.LAUNCH, "--blocks", "100")
        self.assertEqual(result.code, 0, result.err)
        self.assertRegex(result.out, r"\n~ estimates from \d+ of 1,000 blocks, drawn with seed 1; "
                                     r"instructions,\n  branches, barriers and operations are exact\n")
        self.assertRegex(result.out, r"\n line inst% ~sectors ~/req")
        self.assertRegex(result.out, r"\n  global_load_sectors +~[\d,]+ +\+-[\d,]+ +[\d.]+%\n")
        self.assertNotIn("different bytes", result.out)
        for line in result.out.splitlines():
            self.assertLessEqual(len(line), 80, line)
        result = self.run_program("explain", *self.LAUNCH, "--blocks", "10-19")
        self.assertRegex(" ".join(result.out.split()),
                         "~ estimates from 10 of 1,000 blocks, 10 to 19, no random sample: how far "
                         "the others differ is not known;")

    def test_a_range_beyond_the_launch_is_told(self):
        for blocks, sentence in (("900-1100", "the range ends there"), ("900-999", None),
                                 ("2000-3000", "none is in the range, so all were counted")):
            out = self.run_program("explain", *self.LAUNCH, "--blocks", blocks).out
            told = "the launch has blocks 0 to 999: " + (sentence or "")
            self.assertEqual(told in " ".join(out.split()), sentence is not None, out)
        report = self.json_of("explain", *self.LAUNCH, "--blocks", "900-1100", code=0)
        self.assertEqual(report["estimate"]["last"], 999)

    def test_every_block_counted_is_exact(self):
        for blocks in ("1000", "100%", "0-999", "5000:9"):
            report = self.json_of("explain", *self.LAUNCH, "--blocks", blocks, code=0)
            self.assertIsNone(report["estimate"], blocks)
            self.assertIsNotNone(report["unique_bytes_read"])

    def test_what_needs_exact_counts(self):
        self.assert_fails(2, "--blocks gives estimates, and --assert and --baseline need exact "
                             "counts", "explain", *self.LAUNCH, "--blocks", "10", "--assert",
                          "barriers == 0")
        self.assert_fails(2, "blocks 'few': expected a number, a share or a range of blocks, such as "
                             "64, 5%, 64:SEED, 0-63", "explain", *self.LAUNCH, "--blocks", "few")

    @needs_nvcc
    def test_of_a_program(self):
        self.write("steps.cu", CURED.replace("<<<1, 32>>>(x, 1)", "<<<99, 32>>>(x, 1)"))
        report = self.json_of("explain", "steps.cu", "--blocks", "10", code=0)
        first, second = report["launches"][:2]
        self.assertEqual((first["estimate"]["blocks"], second["estimate"]), (99, None))
        self.assertEqual(first["totals"]["global_load_sectors"], 99 * 4)
        self.assertIsNotNone(report["estimate"])


@needs_nvcc
class Resumed(LongPrograms):
    def setUp(self):
        super().setUp()
        self.write("steps.cu", STEPS)
        self.write("slow", "")

    def runs_behind_the_third_launch(self):
        if not os.path.exists(self.path("kept")):
            return 0
        with open(self.path("kept"), encoding="utf-8") as file:
            return file.read().count('{"checked":3}')

    def interrupt(self):
        """Checks until the third launch is checked, and presses Ctrl-C in the fourth."""
        before = self.runs_behind_the_third_launch()
        running = self.start_program("check", "steps.cu", "--resume", "kept", "--json", "-")
        deadline = time.monotonic() + 100  # nvcc may have to compile it first
        while self.runs_behind_the_third_launch() == before:
            self.assertIsNone(running.poll(), "it ended before its fourth launch")
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)
        time.sleep(0.3)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 130, out + err)
        return json.loads(out), err

    def test_goes_on_behind_the_last_launch(self):
        report, err = self.interrupt()
        self.assertEqual(self.lines_of(report), [4])
        self.assertIn("'kept' keeps what is known of the first 3 launches; the same command goes on "
                      "behind them", err)
        os.remove(self.path("slow"))
        result = self.run_program("check", "steps.cu", "--resume", "kept", "--json", "-")
        report = json.loads(result.out)
        self.assertEqual((result.code, report["checked_before"]), (1, 3), result.err)
        self.assertEqual(self.lines_of(report), [4, 8])
        self.assertEqual([one["launch"] for one in report["reports"]], [1, 5])
        self.assertEqual(report["reports"], self.json_of("check", "steps.cu", code=1)["reports"])
        self.assertFalse(os.path.exists(self.path("kept")), "nothing is left to do")

    def test_may_be_interrupted_twice(self):
        self.interrupt()
        with open(self.path("kept"), "a", encoding="utf-8") as file:
            file.write('{"launch":[')  # torn, as by a crash
        report, _ = self.interrupt()
        self.assertEqual((report["checked_before"], self.lines_of(report)), (3, [4]))
        os.remove(self.path("slow"))
        result = self.run_program("check", "steps.cu", "--resume", "kept")
        self.assertIn("\nthe first 3 launches were checked by the run before; their memory counts as",
                      result.out)
        self.assertIn("\n2 errors; 6 launches of 4 kernels, ", result.out)

    def test_a_launch_that_has_changed_is_checked_again(self):
        self.interrupt()
        os.remove(self.path("slow"))
        self.write("other", "")
        result = self.run_program("check", "steps.cu", "--resume", "kept", "--json", "-")
        report = json.loads(result.out)
        self.assertEqual((report["checked_before"], self.lines_of(report)), (2, [4, 8, 2]))
        self.assertIn("launch 2 was another one in the earlier run", result.err)

    def test_another_check_is_refused(self):
        self.interrupt()
        refusal = ("tilescope: --resume 'kept': the file keeps another check (its program, arguments "
                   "or options differ); delete it, or name another one\n")
        for other in (("--", "x"), ("--max-instructions", "1000000"), ("-DOTHER=1", "-O0")):
            result = self.run_program("check", "steps.cu", "--resume", "kept", *other)
            self.assertEqual((result.code, result.err[-len(refusal):]), (2, refusal), other)
        self.write("kept", "hello\n")
        self.assertEqual(self.run_program("check", "steps.cu", "--resume", "kept").code, 4)

    def test_a_kernel_alone_cannot(self):
        self.write("k.cu", FAULTS)
        self.assert_fails(2, "--resume is for programs: it continues behind a launch",
                          "check", "k.cu", *FirstFindings.LAUNCH[1:], "--resume", "kept")


@needs_nvcc
class Progress(LongPrograms):
    def test_time_left_and_number_of_the_launch(self):
        self.write("long.cu", "__global__ void work(float* x, int n) {\n"
                              "  float sum = 0;\n"
                              "  for (int i = 0; i < n; ++i) sum += i * 0.5f;\n"
                              "  x[threadIdx.x] = sum;\n}\n"
                              "int main() { float* x; cudaMalloc(&x, 4096);\n"
                              "  work<<<1, 32>>>(x, 10);\n"
                              "  work<<<4000, 32>>>(x, 3000000);\n"
                              "  return cudaDeviceSynchronize(); }\n")
        ours, theirs = pty.openpty()
        with os.fdopen(ours, "rb", buffering=0) as terminal, os.fdopen(theirs, "wb") as screen:
            os.set_blocking(ours, False)
            running = subprocess.Popen([os.path.abspath(program.TILESCOPE), "run", "long.cu"],
                                       cwd=self.folder, stderr=screen, stdout=subprocess.PIPE,
                                       stdin=subprocess.DEVNULL)
            shown = ""
            for _ in range(600):
                time.sleep(0.1)
                shown += (terminal.read(65536) or b"").decode()
                if " left" in shown:
                    break
            running.send_signal(signal.SIGINT)
            running.communicate(timeout=60)
        self.assertRegex(shown, r"launch 1, work  \d+%  [\d,]+ / 4,000  about [\d minhs]+ left")
        self.assertEqual(re.findall(r"[^\r]\x1b\[K", shown), [], "each line begins at the left")


if __name__ == "__main__":
    program.main()
