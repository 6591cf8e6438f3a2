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

    def test_headers_of_the_host(self):
        self.write("mine.cu", r"""#include <cuda.h>
#include <cstring>
#include <float.h>
#include <limits.h>
#include <utility>
#include <array>
#include <limits>
#include <map>
#include <curand_kernel.h>
#include <curand.h>
#include <cublas_v2.h>
#include <thrust/device_vector.h>
#include <helper_cuda.h>
template <typename T> __device__ void exchange(T& a, T& b) {
  T c = std::move(a); a = std::move(b); b = c;
}
__global__ void k(float* x, size_t n) {
  if (threadIdx.x >= n) return;
  std::array<float, 4> a{1, 2, 3, 4};
  float b = x[threadIdx.x];
  exchange(a[0], b);
  char c[4];
  memset(c, 1, 4);
  memcpy(&x[threadIdx.x], &a[0], sizeof(float));
  x[threadIdx.x] += c[2] + std::fabs(-2.0f) + fmaxf(b, -INFINITY) + std::abs(-1) +
                    (INT_MAX > 0) + (std::numeric_limits<float>::max() == FLT_MAX);
}
cublasHandle_t handle;
std::map<std::string, int> table = {{"a", 1}, {"b", 2}};
int main() { cublasCreate(&handle); thrust::device_vector<float> v(4); return 0; }
""")
        result = self.run_program("run", "mine.cu", "--grid", "1", "--block", "2",
                                  "--arg", "f32[2]=iota", "--arg", "u64:2")
        self.assertEqual(result.code, 0, result.err)
        self.assertIn("\n    7 8\n", result.out)

    def test_short_names_of_integers_and_min_and_max_of_std(self):
        self.write("mine.cu", r"""#include <algorithm>
#include <functional>
using namespace std;
typedef unsigned int uint;
__global__ void k(float* x, uint n, ushort low, ulong high) {
  const uint i = threadIdx.x;
  const size_t last = std::min(size_t{n}, size_t{blockDim.x}) - 1;
  x[i] = std::min(std::max(float(i), float(low)), float(high)) +
         10 * std::min<int>(i, 3u) + 100 * max<uint>(i, 2) + 1000 * std::min(i, uint(last)) +
         10000 * min(i, 1u);
}
""")
        result = self.run_program("run", "mine.cu", "--grid", "1", "--block", "4", "--arg",
                                  "f32[4]=zeros", "--arg", "u32:3", "--arg", "u16:1",
                                  "--arg", "u64:2")
        self.assertEqual(result.code, 0, result.err)
        self.assertIn("\n    201 11211 12222 12332\n", result.out)

    def test_all_kinds_of_declarations(self):
        self.write("mine.cu", r"""#include <stdio.h>
#include <memory>
#include <vector>
#if defined(USE_DOUBLE)
typedef double real;
#else
typedef float real;
#endif
template <typename T>
void require(T status, char const* const call, int const line) {
  if (status) { fprintf(stderr, "%s {\n", call); exit(1); }
}
#define REQUIRE(call) require((call), #call, __LINE__)
typedef void (*Function)(const float*, float*, int);
extern "C" void launch(float* p, int n);
extern "C" { void plain(int); int variable; }
__device__ __host__ inline int up(int a, int b) { return (a % b != 0) ? (a / b + 1) : (a / b); }
template <class T, int N> struct __align__(16) Array {
  T v[N];
  __host__ __device__ T& operator[](int i) { return v[i]; }
};
struct Parameters { int w, h; float k[4]; };
class Base { public: virtual ~Base() {} virtual void run() = 0; };
class Job : public Base { public: void run() override; std::vector<int> queue; static int count; };
int Job::count = 0;
void Job::run() { printf("run {\n"); }
template <typename F> __global__ void apply(F f, real* x, int n) {
  int i = threadIdx.x;
  if (i < n) x[i] = f(x[i]);
}
struct Twice { __device__ real operator()(real v) const { return 2 * v; } };
__global__ void weigh(Parameters p, real* out) { out[threadIdx.x] = p.k[threadIdx.x % 4] * p.w; }
__global__ void fill(Array<float, 4>* a) { (*a)[threadIdx.x] = up(threadIdx.x, 3); }
template <class T> T sum(T* d, int n) { T s = d[0]; for (int i = 1; i < n; i++) s += d[i]; return s; }
template float sum<float>(float*, int);
auto release = [](float* p) { cudaFree(p); };
using Pointer = std::unique_ptr<float, decltype(release)>;
int main(void) {
  auto next = [=] __device__(real v) { return v + 1; };
  apply<<<1, 32, 0, 0>>>(next, (real*)0, 3);
  REQUIRE(cudaDeviceSynchronize());
}
""")
        for kernel, arguments, values in (
                ("apply<Twice>", ("i8:0", "f32[3]=iota", "i32:3"), "0 2 4"),
                ("weigh", ("i32:2,0,0,1065353216,0,0", "f32[3]=zeros"), "0 2 0"),
                ("fill", ("f32[4]=zeros",), "0 1 1 0")):
            given = [word for argument in arguments for word in ("--arg", argument)]
            result = self.run_program("run", "mine.cu", "--kernel", kernel, "--grid", "1", "--block",
                                      "3", *given)
            self.assertEqual(result.code, 0, result.err)
            self.assertIn(f"    {values}\n", result.out)


if __name__ == "__main__":
    program.main()
