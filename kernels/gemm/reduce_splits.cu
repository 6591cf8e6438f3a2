// The sums over the parts of k that a product was cut into, in order, and its epilogue.
//
// Idea:    where C has fewer tiles than the chip has SMs, blocks share a tile by dividing k. Each
//          writes its sums to memory of its own, so nothing depends on the blocks' order, and the
//          result has the same bits in every run.
// Changes: all SMs work; for 8 bytes of traffic per element and part.
// Counter: DRAM and L2 throughput.
//
// `partial` holds batch x splits matrices of m rows, `pitch` apart. C_TYPE, BIAS, READS_C,
// ACTIVATION, RUNS_IF as elsewhere.
// Launch: 256 threads a block, over the elements of C, the batch in grid y.
#include "epilogue.cuh"
#include "run_condition.cuh"

extern "C" __global__ void reduce_splits(const float* partial, void* c, const float* bias, int m,
                                         int n, int splits, long long pitch, long long leading,
                                         long long stride,
                                         float alpha, float beta, const unsigned* flag) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (does_nothing(flag)) return;
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= static_cast<long long>(m) * n) return;
  const long long row = i / n, column = i % n, plane = m * pitch;
  const float* from = partial + blockIdx.y * splits * plane + row * pitch + column;
  float sum = 0.0F;
#pragma unroll 8
  for (int s = 0; s < splits; ++s) sum += from[s * plane];
  C_TYPE* to = static_cast<C_TYPE*>(c) + blockIdx.y * stride + row * leading + column;
  store_with_epilogue<READS_C, ACTIVATION>(to, sum, alpha, beta, bias_at<BIAS>(bias, row, column));
}
