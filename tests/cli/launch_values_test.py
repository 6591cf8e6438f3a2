"""Launches with guessed values, variables, structures and more than one kernel."""

import json
import shlex

import numpy as np

import launch_test
import program
from launch_test import GOOD, SHAPE


class Guesses(launch_test.LaunchTest):
    """A verdict that rests on a guess says so."""

    FAULTY = ("#define N 1000\n#define BLOCK_SIZE 128\n"
              "__global__ void k(float *x) { int i = blockIdx.x * blockDim.x + threadIdx.x; "
              "x[i] = 2 * x[i]; }\n"
              "int main() { float *d; cudaMalloc(&d, N * sizeof(float)); "
              "int grid = ceil(N / (float)BLOCK_SIZE); k<<<grid, BLOCK_SIZE>>>(d); }\n")

    def suggested(self, name, text):
        """The suggestion for a kernel of a file, taken literally."""
        self.write(name, text)
        result = self.run_program("check", name, "--kernel", "k")
        self.assertEqual(result.code, 2)
        command = result.err[result.err.index("    tilescope check"):]
        return result.err, shlex.split(command.replace("\\\n", " "))[1:]

    def test_nothing_is_guessed_that_the_source_says(self):
        message, words = self.suggested("faulty.cu", self.FAULTY)
        self.assertNotIn("guessed", message)
        result = self.run_program(*words)
        self.assertEqual(result.code, 1)
        self.assertIn("out-of-bounds", result.out)
        self.assertNotIn("guess", result.out)

    def test_guesses_are_named_first_and_last_and_in_json(self):
        message, words = self.suggested(
            "open.cu", "__global__ void k(float *x, int n) { if (threadIdx.x < n) x[0] = n; }\n"
                       "int main(int c, char** v) { int n = atoi(v[1]); float *d; "
                       "cudaMalloc(&d, 4 * n); k<<<1, 32>>>(d, n); }\n")
        self.assertIn("\n  guessed, for the source does not say it: x, n\n", message)
        self.assertEqual(words[-2:], ["--guessed", "x,n"])
        result = self.run_program(*words)
        lines = result.out.splitlines()
        self.assertTrue(lines[0].endswith("; guessed: x, n"), lines[0])
        self.assertIn("with guesses for x, n", result.out)
        for command in ("check", "run", "explain"):
            result = self.run_program(command, *words[1:], "--json", "-")
            self.assertEqual(json.loads(result.out)["guessed"], ["x", "n"])

    def test_names_that_the_launch_has_not(self):
        self.refused(2, "--guessed m: the launch has no such value; it has grid, block, shared, "
                        "kernel, x, a, n", "k.cu", *SHAPE, *GOOD, "--guessed", "m")


class Variables(launch_test.LaunchTest):
    SOURCE = ("__constant__ float coef[4];\n"
              "__global__ void k(float* x) { x[threadIdx.x] = coef[threadIdx.x & 3]; }\n")

    def test_what_nothing_sets_is_said(self):
        self.write("const.cu", self.SOURCE)
        launch = ("const.cu", *SHAPE, "--arg", "f32[8]=zeros")
        result = self.run_program("check", *launch)
        self.assertEqual((result.code, result.err),
                         (0, "tilescope: note: coef has only zeros, since nothing sets it; "
                             "--constant 'coef=TYPE[COUNT]=INIT' does\n"))
        result = self.run_program("run", *launch, "--json", "-")
        self.assertEqual(json.loads(result.out)["unset"], ["coef"])

    def test_what_is_set_is_there(self):
        self.write("const.cu", self.SOURCE)
        result = self.run_program("run", "const.cu", *SHAPE, "--arg", "f32[8]=zeros", "--constant",
                                  "coef=f32[4]=iota")
        self.assertEqual((result.code, result.err), (0, ""))
        self.assertIn("0 1 2 3 0 1 2 3", result.out)

    def test_what_does_not_fit(self):
        self.write("const.cu", self.SOURCE)
        launch = ("const.cu", *SHAPE, "--arg", "f32[8]=zeros", "--constant")
        self.refused(2, "--constant coef=f32[3]=ones: the variable has 16 bytes, but 12 were given",
                     *launch, "coef=f32[3]=ones")
        self.refused(2, "--constant c=f32:1: kernel k uses no __constant__ or __device__ variable "
                        "of this name; it uses coef", *launch, "c=f32:1")
        self.refused(2, "--constant f32:1: the variable's name and = come first, such as "
                        "coef=f32[4]=ones", *launch, "f32:1")


class Several(launch_test.LaunchTest):
    SOURCE = ("__global__ void scale(float* x, float by) { x[threadIdx.x] *= by; }\n"
              "__global__ void copy(const float* x, float* y) { "
              "y[threadIdx.x] = x[threadIdx.x]; }\n")
    LAUNCHES = {"arrays": {"x": "f32[4]=iota", "y": "f32[4]=uninitialised>y.npy"}, "grid": 1,
                "block": 4, "launches": [{"kernel": "scale", "args": ["x", "f32:2"]},
                                         {"kernel": "copy", "args": ["x", "y"]}]}

    def test_one_reads_what_the_other_wrote(self):
        self.write("two.cu", self.SOURCE)
        self.write("two.json", json.dumps(self.LAUNCHES))
        result = self.run_program("run", "two.cu", "--launch", "two.json")
        self.assertEqual((result.code, result.err), (0, ""))
        self.assertIn("scale: grid 1, block 4 on emulated:h200", result.out)
        self.assertIn("copy: grid 1, block 4\n", result.out)
        self.assertTrue(np.array_equal(self.load("y.npy"), [0, 2, 4, 6]))
        result = self.run_program("check", "two.cu", "--launch", "two.json")
        self.assertEqual((result.code, result.err), (0, ""))
        self.assertIn("two.cu: scale, copy", result.out)

    def test_a_fault_of_the_second(self):
        self.write("two.cu", self.SOURCE)
        launches = dict(self.LAUNCHES, arrays={"x": "f32[4]=iota", "y": "f32[3]=zeros"})
        self.write("two.json", json.dumps(launches))
        result = self.run_program("check", "two.cu", "--launch", "two.json", "--json", "-")
        self.assertEqual(result.code, 1)
        report = json.loads(result.out)["reports"][0]
        self.assertEqual((report["kind"], report["line"], report["launch"]),
                         ("out-of-bounds", 2, 1))

    def test_options_beside_it(self):
        self.write("two.cu", self.SOURCE)
        self.write("two.json", json.dumps(self.LAUNCHES))
        self.refused(2, "'two.json' has several launches; beside it only -D and -I are taken",
                     "two.cu", "--launch", "two.json", "--grid", "1")


class Structures(launch_test.LaunchTest):
    def test_pointers_inside(self):
        self.write("struct.cu", "struct s { float* p[42]; };\n"
                                "__global__ void foo(s q) { q.p[4][threadIdx.x] = threadIdx.x; }\n")
        result = self.run_program("run", "struct.cu", *SHAPE, "--arg",
                                  "{4*f32[1]=zeros, f32[8]=zeros>p.npy, 37*u64:0}")
        self.assertEqual((result.code, result.err), (0, ""))
        self.assertTrue(np.array_equal(self.load("p.npy"), np.arange(8)))
        result = self.run_program("check", "struct.cu", *SHAPE, "--arg", "{f32[8]=zeros}")
        self.assertEqual(result.code, 2)
        self.assertIn("--arg {f32[8]=zeros}: parameter 1 of kernel foo, q, is 336 bytes; the "
                      "members take 8, with C's alignment\n", result.err)
        self.assertIn("--arg '{42*f32[8]=zeros}'", result.err)


if __name__ == "__main__":
    program.main()
