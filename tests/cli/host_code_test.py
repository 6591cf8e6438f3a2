"""A .cu file as students have them: kernels, host functions and main() in one file."""

import unittest

import program

SOURCE = r'''#include <cuda_runtime.h>
#include <stdio.h>
#include <iostream>
#include <vector>
#include <cmath>
#include <algorithm>
#include <cstdint>
#include "timer.h"
using namespace std;

#define CHECK(call) do { cudaError_t e = call; if (e != cudaSuccess) { \
  fprintf(stderr, "%s\n", cudaGetErrorString(e)); exit(EXIT_FAILURE); } } while (0)

const int N = 1 << 8;
float *h_x;

template <int Factor>
__global__ void scale(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) x[i] = std::max(0.0f, Factor * x[i]) + (float)M_PI * 0;
}

namespace helpers {
__global__ void clear(uint32_t* x) { x[threadIdx.x] = 0; }
}

void reference(const vector<float>& x, vector<float>& y) {
  for (size_t i = 0; i < x.size(); ++i) y[i] = 2 * x[i];
}

int main(int argc, char** argv) {
  vector<float> x(N), y(N);
  float* d_x;
  CHECK(cudaMalloc(&d_x, N * sizeof(float)));
  GpuTimer timer;
  scale<2><<<(N + 63) / 64, 64>>>(d_x, N);
  CHECK(cudaDeviceSynchronize());
  cout << "done }" << endl;
}
'''

TIMER = r'''#pragma once
#include <chrono>
struct GpuTimer {
  cudaEvent_t start;
  GpuTimer() { cudaEventCreate(&start); }
  void Start() { cudaEventRecord(start, 0); }
};
inline double seconds() { return std::chrono::duration<double>(1).count(); }
'''


class HostCode(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("mine.cu", SOURCE)
        self.write("timer.h", TIMER)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def check(self, *arguments):
        return self.run_program("check", "mine.cu", *arguments)

    def test_the_lines_are_those_of_the_file(self):
        result = self.check("--kernel", "scale<2>", "--grid", "5", "--block", "64",
                            "--arg", "f32[256]=iota", "--arg", "i32:256")
        self.assertEqual(result.code, 1, result.err)
        self.assertIn("error: out-of-bounds at mine.cu:20\n", result.out)
        self.assertIn("   20 |   if (i <= n) x[i] = ", result.out)
        self.assertEqual(result.err, "tilescope: note: host code is left out (reference, main, "
                                     "seconds); only the kernel runs\n")

    def test_a_kernel_in_a_namespace(self):
        result = self.run_program("run", "mine.cu", "--kernel", "helpers::clear", "--grid", "1",
                                  "--block", "8", "--arg", "u32[8]=iota")
        self.assertEqual(result.code, 0, result.err)
        self.assertIn("u32[8], 0 to 0", result.out)

    def test_a_function_without_device(self):
        self.write("mine.cu", "#include <stdio.h>\nint twice(int x) { return 2 * x; }\n"
                              "__global__ void k(int* y) { *y = twice(2); }\n"
                              "int main() { k<<<1, 1>>>(0); }\n")
        result = self.check("--grid", "1", "--block", "1", "--arg", "i32[1]=zeros")
        self.assertEqual(result.code, 4)
        self.assertIn('mine.cu(3): error: identifier "twice" is undefined', result.err)
        self.assertTrue(result.err.endswith(
            "twice has no __device__, so it is host code and was left out; mark it __device__ if "
            "kernels call it\n"), result.err)

    def test_compiler_errors_are_the_compilers(self):
        self.write("mine.cu", "__global__ void k(int* y) {\n  y[0] = z;\n}\n")
        result = self.check("--grid", "1", "--block", "1", "--arg", "i32[1]=zeros")
        self.assertEqual(result.code, 4)
        self.assertTrue(result.err.startswith(
            'tilescope: mine.cu(2): error: identifier "z" is undefined\n'), result.err)


if __name__ == "__main__":
    program.main()
