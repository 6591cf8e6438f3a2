// Cooperative groups: all blocks of a grid meet between the iterations.
// The grid has as many blocks as the GPU can hold at once, but not more than the data need.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace cg = cooperative_groups;

#define MUST(call)                                                                        \
  if (cudaError_t e = (call); e != cudaSuccess) {                                         \
    printf("%s -> %s\n", #call, cudaGetErrorString(e));                                   \
    exit(1);                                                                              \
  }

__global__ void smooth(int* a, int* b, int n, int iterations, int* changes) {
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  int changed = 0;
  for (int k = 0; k < iterations; k++) {
    for (unsigned int i = grid.thread_rank(); i < n; i += grid.size()) {
      int left = i > 0 ? a[i - 1] : a[i];
      int right = i < n - 1 ? a[i + 1] : a[i];
      b[i] = (left + 2 * a[i] + right) / 4;
      changed += b[i] != a[i];
    }
    grid.sync();  // FOUND
    int* t = a;
    a = b;
    b = t;
  }
  for (int d = warp.size() / 2; d > 0; d /= 2) changed += warp.shfl_down(changed, d);
  if (warp.thread_rank() == 0) atomicAdd(changes, changed);
}

int main(int argc, char** argv) {
  int n = argc > 1 ? atoi(argv[1]) : 3000;
  int iterations = argc > 2 ? atoi(argv[2]) : 6;
  const int threads = 128;

  int device = 0, cooperative = 0, processors = 0, blocks_each = 0;
  MUST(cudaSetDevice(device));
  MUST(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, device));
  MUST(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  if (!cooperative) {
    printf("this GPU has no cooperative launch\n");
    return 0;
  }
  MUST(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_each, smooth, threads, 0));
  int blocks = (n + threads - 1) / threads / 2;
  if (blocks > processors * blocks_each) blocks = processors * blocks_each;
  if (blocks < 1) blocks = 1;

  std::vector<int> values(n), result(n), next(n);
  for (int i = 0; i < n; i++) values[i] = (i * 7919) % 5000;
  int *a, *b, *changes;
  MUST(cudaMalloc(&a, n * sizeof(int)));
  MUST(cudaMalloc(&b, n * sizeof(int)));
  MUST(cudaMalloc(&changes, sizeof(int)));
  MUST(cudaMemset(changes, 0, sizeof(int)));
  MUST(cudaMemcpy(a, values.data(), n * sizeof(int), cudaMemcpyHostToDevice));

  smooth<<<blocks, threads>>>(a, b, n, iterations, changes);  // MISTAKE: not cooperative
  MUST(cudaDeviceSynchronize());

  int* newest = iterations % 2 ? b : a;
  int changed = 0, expected = 0;
  MUST(cudaMemcpy(result.data(), newest, n * sizeof(int), cudaMemcpyDeviceToHost));
  MUST(cudaMemcpy(&changed, changes, sizeof(int), cudaMemcpyDeviceToHost));

  for (int k = 0; k < iterations; k++) {
    for (int i = 0; i < n; i++) {
      int left = i > 0 ? values[i - 1] : values[i];
      int right = i < n - 1 ? values[i + 1] : values[i];
      next[i] = (left + 2 * values[i] + right) / 4;
      expected += next[i] != values[i];
    }
    values.swap(next);
  }
  bool good = result == values && changed == expected;
  printf("%d changes in %d iterations\n%s\n", changed, iterations, good ? "PASSED" : "FAILED");

  MUST(cudaFree(a));
  MUST(cudaFree(b));
  MUST(cudaFree(changes));
  return good ? 0 : 1;
}
