"""Kernels of the user's own and how they are launched: what is refused, and in which words."""

import os
import shlex
import signal
import subprocess
import time
import unittest

import numpy as np

import program

SCALE = """__global__ void scale(float* x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= a;
}
"""

SEVERAL = """template <int W> __global__ void tile(float* x) { x[threadIdx.x] = W; }
template <typename T> __global__ void typed(T* x) { x[threadIdx.x] = T(1); }
__global__ void over(float* x) { x[0] = 1; }
__global__ void over(int* x, int n) { x[0] = n; }
namespace lib { namespace inner { __global__ void scale(float* x) { x[0] = 2; } } }
extern "C" __global__ void plain(float* x) { x[0] = 3; }
"""

SPIN = """__global__ void spin(unsigned* x) {
  while (x[0] != 1u << 31) x[threadIdx.x] = x[threadIdx.x] * 3 + 1;
}
"""

SHAPE = ("--grid", "1", "--block", "8")
GOOD = ("--arg", "f32[8]=iota", "--arg", "f32:2", "--arg", "i32:8")


class LaunchTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("k.cu", SCALE)
        self.write("several.cu", SEVERAL)
        self.write("spin.cu", SPIN)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def refused(self, code, message, *arguments):
        """An example of a command may follow the message."""
        for command in ("run", "check"):
            with self.subTest(command=command):
                result = self.run_program(command, *arguments)
                first, *example = result.err.removesuffix("\n").split("\n")
                self.assertEqual(first, "tilescope: " + message)
                self.assertEqual(result.code, code)
                self.assertEqual(result.out, "")
                if example:
                    self.assertIn("  for example:", example)


PROGRAM = """#include <vector>
#define BLOCK 64
struct Pixel { unsigned char r, g, b; };
__global__ void add(const float* a, Pixel* out, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i].r = a[i] + by;
}
template <typename T, int N> __global__ void fill(T* x, T value) { x[threadIdx.x % N] = value; }
__global__ void bare(double* x, unsigned long long n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }
int main() {
  int n = 100;
  float* d_a;
  Pixel* d_out;
  cudaMalloc(&d_a, n * sizeof(float));
  cudaMalloc((void**)&d_out, 3 * n);
  add<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(d_a, d_out, 0.5f, n);
  fill<float, 8><<<1, 8>>>(d_a, 1.0f);
}
"""


class Example(LaunchTest):
    """When something is missing, the message ends with a command that works."""

    def example(self, message, *arguments):
        self.write("program.cu", PROGRAM)
        result = self.run_program(*arguments)
        self.assertEqual(result.code, 2)
        lines = [line for line in result.err.splitlines() if ": note: " not in line]
        self.assertEqual(lines[0], "tilescope: " + message)
        self.assertLessEqual(max(len(line) for line in lines[1:]), 80)
        at = lines.index("  for example:")
        return " ".join(lines[1:at]), "\n".join(lines[at + 1:])

    def assert_works(self, text):
        words = shlex.split(text.replace("\\\n", " "))
        self.assertEqual(words[0], "tilescope")
        result = self.run_program(*words[1:])
        self.assertEqual((result.code, result.err),
                         (0, "tilescope: note: host code is left out (main); only the kernel "
                             "runs\n"))

    def test_from_the_launch_in_the_file(self):
        signature, text = self.example("--grid is missing: how many blocks to launch",
                                       "check", "program.cu", "--kernel", "add")
        self.assertEqual(signature, "  add(const float* a, Pixel* out, float by, int n)")
        self.assertEqual(text, "    tilescope check program.cu --kernel add --grid 2 --block 64 \\\n"
                               "        --arg 'f32[100]=random' --arg 'u8[300]=zeros' --arg f32:0.5 \\\n"
                               "        --arg i32:100")
        self.assert_works(text)

    def test_what_was_given_stays(self):
        _, text = self.example("--block is missing: how many threads a block has",
                               "run", "program.cu", "--kernel", "bare", "--grid", "3")
        self.assertEqual(text, "    tilescope run program.cu --kernel bare --grid 3 --block 256 \\\n"
                               "        --arg 'f64[768]=zeros' --arg u64:768 --guessed block,x,n")
        self.assert_works(text)

    def test_arguments_that_do_not_fit(self):
        _, text = self.example(
            "kernel add has 4 parameters (a: a pointer, out: a pointer, by: f32, n: an integer "
            "of 4 bytes), but 0 --arg were given",
            "explain", "program.cu", "--kernel", "add", "--grid", "1", "--block", "32")
        self.assertIn("--grid 1 --block 32", text)
        self.assert_works(text)

    def test_an_instance_of_a_template(self):
        self.write("program.cu", PROGRAM)
        self.assert_fails(2, "kernel fill is a template; name an instance, such as --kernel "
                             "'fill<float, 8>'", "check", "program.cu", "--kernel", "fill")
        _, text = self.example("--grid is missing: how many blocks to launch",
                               "run", "program.cu", "--kernel", "fill<float, 8>")
        self.assertIn("--kernel 'fill<float, 8>' --grid 1 --block 8", text)
        self.assertIn("--arg 'f32[100]=zeros' --arg f32:1", text)
        self.assert_works(text)


class Arguments(LaunchTest):
    def test_how_many(self):
        self.refused(2, "kernel scale has 3 parameters (x: a pointer, a: f32, n: an integer of 4 "
                        "bytes), but 1 --arg was given", "k.cu", *SHAPE, "--arg", "f32[8]=iota")

    def test_a_number_for_a_pointer(self):
        self.refused(2, "--arg i32:1: parameter 1 of kernel scale, x, is a pointer; give an array, "
                        "such as f32[1024]=zeros (or u64:0 for a null pointer)",
                     "k.cu", *SHAPE, "--arg", "i32:1", *GOOD[2:])

    def test_an_array_for_a_number(self):
        self.refused(2, "--arg f32[8]=ones: parameter 3 of kernel scale, n, is an integer of 4 "
                        "bytes, not a pointer; give a value, such as i32:256",
                     "k.cu", *SHAPE, *GOOD[:4], "--arg", "f32[8]=ones")
        self.write("wide.cu", "__global__ void k(float* x, long long n) { x[0] = n; }\n")
        self.refused(2, "--arg f32[2]=zeros: parameter 2 of kernel k, n, is an integer of 8 bytes, "
                        "not a pointer; give a value, such as i32:256",
                     "wide.cu", *SHAPE, "--arg", "f32[2]=zeros", "--arg", "f32[2]=zeros")

    def test_another_type(self):
        self.refused(2, "--arg i32:2: parameter 2 of kernel scale, a, is f32; i32 would be read as "
                        "another number", "k.cu", *SHAPE, *GOOD[:2], "--arg", "i32:2", *GOOD[4:])
        self.refused(2, "--arg i64:8: parameter 3 of kernel scale, n, is an integer of 4 bytes; "
                        "but 8 bytes were given", "k.cu", *SHAPE, *GOOD[:4], "--arg", "i64:8")

    def test_negative_counts(self):
        self.refused(2, '--arg f32[-1]=zeros: the count "-1" is no number such as 1024 or 64*64',
                     "k.cu", *SHAPE, "--arg", "f32[-1]=zeros", *GOOD[2:])

    def test_files(self):
        np.save(self.path("f8.npy"), np.arange(8.0))
        np.save(self.path("f4.npy"), np.arange(8, dtype=np.float32))
        self.refused(4, "'f8.npy': its elements are float64, but --arg f32[8]=@f8.npy says float32",
                     "k.cu", *SHAPE, "--arg", "f32[8]=@f8.npy", *GOOD[2:])
        self.refused(4, "'f4.npy': it has 8 elements, but --arg f32[9]=@f4.npy says 9",
                     "k.cu", *SHAPE, "--arg", "f32[9]=@f4.npy", *GOOD[2:])
        self.refused(4, "cannot read 'no.npy': no such file; check the name and the current folder",
                     "k.cu", *SHAPE, "--arg", "f32[8]=@no.npy", *GOOD[2:])
        result = self.run_program("run", "k.cu", *SHAPE, "--arg", "f32[]=@f4.npy>out.npy",
                                  *GOOD[2:])
        self.assertEqual(result.code, 0, result.err)
        self.assertTrue(np.array_equal(self.load("out.npy"), 2 * np.arange(8)))
        self.assertEqual(self.files(), ["f4.npy", "f8.npy", "k.cu", "out.npy", "several.cu",
                                        "spin.cu"])


class Shapes(LaunchTest):
    def test_zero(self):
        self.refused(2, "--grid 0: every extent must be at least 1",
                     "k.cu", "--grid", "0", "--block", "8", *GOOD)

    def test_beyond_the_limits(self):
        for shape, message in (
                (("--grid", "2147483648", "--block", "32"),
                 "grid 2147483648 x 1 x 1 exceeds the largest extents 2147483647 x 65535 x 65535 "
                 "of NVIDIA H200; let each thread take several elements (a grid-stride loop)"),
                (("--grid", "1", "--block", "1024,1024,1"),
                 "1048576 threads per block (1024 x 1024 x 1) exceed the 1024 that NVIDIA H200 "
                 "allows; use smaller blocks and more of them"),
                (("--grid", "1", "--block", "8", "--shared", "300000"),
                 "0 static + 300000 dynamic bytes of shared memory per block exceed the 232448 of "
                 "NVIDIA H200; use smaller tiles")):
            message = "kernel scale cannot be launched: " + message
            self.assert_fails(2, message, "run", "k.cu", *shape, *GOOD)
            result = self.run_program("check", "k.cu", *shape, *GOOD)
            self.assertEqual(result.code, 1)
            self.assertIn("error: illegal-launch\n", result.out)
            self.assertIn(message.replace(" ", ""), "".join(result.out.split()))

    def test_negative_shared_memory(self):
        result = self.run_program("run", "k.cu", *SHAPE, "--shared", "-5", *GOOD)
        self.assertEqual(result.code, 2)
        self.assertIn("--shared: Value -5 not in range", result.err)

    def test_the_largest_grid_with_a_limit(self):
        result = self.run_program("run", "k.cu", "--grid", "2147483647", "--block", "32",
                                  "--max-instructions", "100000", *GOOD)
        self.assertEqual(result.code, 1)
        self.assertRegex(result.err, r"^tilescope: kernel scale failed: stopped after \d+ warp "
                                     r"instructions \(the limit is 100000\); the arrays are as it "
                                     r"left them, and no file was written; [^\n]+\n$")


class Files(LaunchTest):
    def test_sources_that_are_none(self):
        self.write("empty.cu", "")
        self.write("none.cu", "int x;\n")
        for name in ("empty.cu", "none.cu"):
            self.refused(4, f"'{name}' has no kernel: there is no __global__ function in it (one "
                            "that a macro makes is named with --kernel)", name, *SHAPE)
        self.refused(4, "cannot read 'no.cu': no such file; check the name and the current folder",
                     "no.cu", *SHAPE)
        os.mkdir(self.path("dir.cu"))
        self.refused(4, "cannot read 'dir.cu': it is a folder; name a file in it", "dir.cu", *SHAPE)
        self.write("empty.ptx", "")
        self.refused(4, "empty.ptx:1: there is no .version directive, so this is not PTX",
                     "empty.ptx", *SHAPE)

    def test_garbage(self):
        for name in ("garbage.cu", "garbage.ptx"):
            with open(self.path(name), "wb") as file:
                file.write(bytes(range(1, 256)) * 3 + b"\0" * 5)
            self.refused(4, f"'{name}' is not text: byte 765 is zero", name, *SHAPE)

    def test_a_cache_that_cannot_be_written(self):
        for folder in ("/sys/none", "/dev/full"):
            result = self.run_program("check", "k.cu", *SHAPE, *GOOD, "-D", f"X={folder[1]}",
                                      env={"TILESCOPE_CACHE": folder})
            self.assertEqual(result.code, 0, result.err)
            self.assertRegex(result.err, "^tilescope: note: compiled kernels are not kept: cannot "
                                         f"write to '{folder}' [^\n]+\n$")

    def test_several_at_once_with_one_cache(self):
        environment = dict(os.environ, TILESCOPE_CACHE=self.path("cache"))
        runs = [subprocess.Popen([os.path.abspath(program.TILESCOPE), "run", "k.cu", *SHAPE, *GOOD],
                                 cwd=self.folder, env=environment, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                for _ in range(4)]
        for run in runs:
            out, err = run.communicate(timeout=60)
            self.assertEqual((run.returncode, err), (0, ""))
            self.assertIn("0 2 4 6 8 10 12 14", out)
        self.assertEqual(len(os.listdir(self.path("cache"))), 1)


class Names(LaunchTest):
    def run_kernel(self, kernel, *arguments):
        return self.run_program("run", "several.cu", "--kernel", kernel, *SHAPE, *arguments)

    def test_those_there_are(self):
        listed = "tile<...>, typed<...>, over, lib::inner::scale, plain"
        self.refused(2, "'several.cu' has several kernels; name one with --kernel: " + listed,
                     "several.cu", *SHAPE, *GOOD[:2])
        self.refused(2, f"'several.cu' has no kernel \"none\"; it has: {listed}",
                     "several.cu", "--kernel", "none", *SHAPE, *GOOD[:2])

    def test_templates(self):
        self.refused(2, "kernel tile is a template; name an instance, such as --kernel 'tile<16>'",
                     "several.cu", "--kernel", "tile", *SHAPE, *GOOD[:2])
        self.refused(2, '--kernel tile<x>: identifier "x" is undefined',
                     "several.cu", "--kernel", "tile<x>", *SHAPE, *GOOD[:2])
        self.assertIn("16 16 16", self.run_kernel("tile<16>", "--arg", "f32[8]=iota").out)
        self.assertIn("1 1 1", self.run_kernel("typed<double>", "--arg", "f64[8]=iota").out)

    def test_those_that_macros_make(self):
        self.write("made.cu", "#define MAKE(name) \\\n  __global__ void name(int* x) \\\n"
                              "  { x[threadIdx.x] += 2; }\nMAKE(first)\nMAKE(second)\nint main() {}\n")
        self.refused(2, "'made.cu' has several kernels; name one with --kernel: first, second",
                     "made.cu", *SHAPE, "--arg", "i32[8]=iota")
        result = self.run_program("run", "made.cu", "--kernel", "second", *SHAPE, "--arg",
                                  "i32[8]=iota")
        self.assertIn("2 3 4 5", result.out, result.err)
        result = self.run_program("check", "made.cu", "--kernel", "second")
        self.assertIn("\n  second(int*)\n", result.err)
        self.assertIn("--arg 'i32[256]=zeros'", result.err)

    def test_overloads(self):
        self.refused(2, "kernel over is overloaded; give the types of the parameters, such as "
                        "--kernel 'over(float*)'; there are over(float* x), over(int* x, int n)",
                     "several.cu", "--kernel", "over", *SHAPE, *GOOD[:2])
        self.assertIn("1 1 2 3", self.run_kernel("over(float*)", "--arg", "f32[8]=iota").out)
        result = self.run_kernel("over(int*, int)", "--arg", "i32[8]=iota", "--arg", "i32:7")
        self.assertIn("7 1 2 3", result.out, result.err)
        self.assertTrue(result.out.startswith("over: grid 1"), result.out)

    def test_namespaces_and_c_names(self):
        for kernel, first in (("lib::inner::scale", "2 1 2"), ("scale", "2 1 2"),
                              ("plain", "3 1 2")):
            self.assertIn(first, self.run_kernel(kernel, "--arg", "f32[8]=iota").out)

    def test_macros_and_folders_of_headers(self):
        os.mkdir(self.path("inc"))
        self.write("inc/factor.cuh", "#define FACTOR (BASE + 1)\n")
        self.write("d.cu", '#include "factor.cuh"\n'
                           "__global__ void k(int* x) { x[threadIdx.x] = FACTOR; }\n")
        result = self.run_program("run", "d.cu", "--grid", "1", "--block", "3", "-D", "BASE=4", "-I",
                                  "inc", "--arg", "i32[3]=zeros")
        self.assertIn("5 5 5", result.out, result.err)


class Interrupted(LaunchTest):
    def interrupt(self, number, *arguments):
        process = self.start_program(*arguments)
        time.sleep(1.0)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 128 + number, out + err)
        return out, err

    def test_run(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            out, err = self.interrupt(number, "run", "spin.cu", *SHAPE, "--arg",
                                      "u32[8]=iota>x.npy")
            self.assertIn("x: u32[8], ", out)
            self.assertEqual(err, "tilescope: kernel spin failed: interrupted; the arrays are as "
                                  "it left them, and no file was written\n")
            self.assertNotIn("x.npy", self.files())

    def test_check(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            out, _ = self.interrupt(number, "check", "spin.cu", *SHAPE, "--arg", "u32[8]=iota")
            self.assertIn("error: race at spin.cu:2", out)
            self.assertIn("interrupted: the findings so far\n", out)
            self.assertTrue(out.endswith(" (a part of the run)\n"))


if __name__ == "__main__":
    program.main()
