"""A program that was built with CUDA 12 loads the library as libcudart.so.12."""

import os
import re
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIBRARY = os.path.abspath(os.environ.get("CUDART", os.path.join(ROOT, "build/libcudart.so.13")))

# Declarations of CUDA 12's headers that differ from CUDA 13's.
PROGRAM = r"""
#include <cstddef>
#include <cstdio>
#include <cstring>
extern "C" {
int cudaMalloc(void**, size_t);
int cudaMallocManaged(void**, size_t, unsigned);
int cudaFree(void*);
int cudaMemAdvise(const void*, size_t, int, int);
int cudaMemPrefetchAsync(const void*, size_t, int, void*);
int cudaGetDeviceProperties_v2(void*, int);
int cudaPointerGetAttributes(void*, const void*);
int cudaRuntimeGetVersion(int*);
int cudaThreadSynchronize();
int cudaGraphCreate(void**, unsigned);
int cudaGraphAddEmptyNode(void**, void*, void* const*, size_t);
int cudaGraphAddDependencies(void*, void* const*, void* const*, size_t);
int cudaGraphGetEdges(void*, void**, void**, size_t*);
int cudaStreamCreate(void**);
int cudaStreamGetCaptureInfo(void*, int*, unsigned long long*);
}
template <typename T> T at(const char* bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes + offset, sizeof value);
  return value;
}
int main() {
  char p[1032 + 64];
  std::memset(p, 0x55, sizeof p);
  int code = cudaGetDeviceProperties_v2(p, 0);
  std::printf("%d %s %d.%d\n", code, p, at<int>(p, 360), at<int>(p, 364));
  std::printf("%zu %d %d %d %zu %d %d %x\n", at<size_t>(p, 288), at<int>(p, 348) > 1000000,
              at<int>(p, 388), at<int>(p, 652), at<size_t>(p, 696), at<int>(p, 688),
              at<int>(p, 772), p[1032]);
  void *data, *managed;
  code = cudaMalloc(&data, 100);
  std::printf("%d %d\n", code, cudaMallocManaged(&managed, 8192, 1));
  struct { int type, device; void *on_device, *on_host, *beyond; } a = {9, 9, 0, 0, data};
  code = cudaPointerGetAttributes(&a, data);
  std::printf("%d %d %d %d\n", code, a.type, a.on_device == data, a.beyond == data);
  code = cudaMemAdvise(managed, 8192, 1, 0);
  std::printf("%d %d\n", code, cudaMemPrefetchAsync(managed, 8192, -1, nullptr));
  int version = 0;
  code = cudaRuntimeGetVersion(&version);
  std::printf("%d %d %d\n", code, version, cudaThreadSynchronize());
  void *graph, *nodes[2], *from[4], *to[4];
  size_t edges = 4;
  cudaGraphCreate(&graph, 0);
  cudaGraphAddEmptyNode(&nodes[0], graph, nullptr, 0);
  cudaGraphAddEmptyNode(&nodes[1], graph, nullptr, 0);
  code = cudaGraphAddDependencies(graph, &nodes[0], &nodes[1], 1);
  std::printf("%d ", code);
  code = cudaGraphGetEdges(graph, from, to, &edges);
  std::printf("%d %zu %d\n", code, edges, from[0] == nodes[0] && to[0] == nodes[1]);
  void* stream;
  int status = 7;
  unsigned long long id;
  cudaStreamCreate(&stream);
  code = cudaStreamGetCaptureInfo(stream, &status, &id);
  std::printf("%d %d\n", code, status);
  code = cudaFree(data);
  std::printf("%d %d\n", code, cudaFree(managed));
}
"""
OUTPUT = """0 NVIDIA H200 9.0
{memory} 1 132 1 232448 1 1 55
0 0
0 2 1 1
0 0
0 12090 0
0 0 1 1
0 0
0 0
"""


class Cuda12(unittest.TestCase):
    def run_in(self, folder, *words, **more):
        return subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True, **more)

    def test_a_program_finds_the_functions_that_it_was_built_with(self):
        with tempfile.TemporaryDirectory(prefix="tilescope.") as folder:
            def write(name, text):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            # A library to link against, as CUDA 12's is: each function under its version.
            names = sorted(set(re.findall(r"^int (cuda\w+)\(", PROGRAM, re.M)))
            write("stub.c", "".join(f"int {name}(void) {{ return 1; }}\n" for name in names))
            write("stub.map", "libcudart.so.12 { global: *; };\n")
            write("old.cpp", PROGRAM)
            self.run_in(folder, "gcc", "-shared", "-fPIC", "stub.c", "-o", "libcudart.so.12",
                        "-Wl,-soname,libcudart.so.12", "-Wl,--version-script=stub.map")
            self.run_in(folder, "g++", "old.cpp", "-o", "old", "./libcudart.so.12")
            os.remove(os.path.join(folder, "libcudart.so.12"))
            done = self.run_in(folder, "./old",
                               env={**os.environ, "LD_LIBRARY_PATH": os.path.dirname(LIBRARY)})
        lines = done.stdout.splitlines()
        memory = lines[1].split()[0]
        self.assertGreater(int(memory), 100 << 30)
        self.assertEqual(done.stdout, OUTPUT.format(memory=memory))
        self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    unittest.main()
