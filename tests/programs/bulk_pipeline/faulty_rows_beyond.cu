// Sums the columns of a long matrix: bulk copies bring rows to a ring of stages while the threads
// add up earlier ones, and a bulk reduction adds each block's sums to the result.
// Usage: bulk_pipeline [rows]
#include <cuda/barrier>
#include <cuda/ptx>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                          \
  do {                                                                       \
    cudaError_t code = (call);                                               \
    if (code != cudaSuccess) {                                               \
      fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(code));  \
      exit(1);                                                               \
    }                                                                        \
  } while (0)

namespace ptx = cuda::ptx;

constexpr int COLUMNS = 128, STAGES = 3;

__global__ void column_sums(const int *matrix, int *sums, int rows) {
  __shared__ alignas(128) int stage[STAGES][COLUMNS];
  __shared__ alignas(16) int total[COLUMNS];
  __shared__ uint64_t full[STAGES];
  const int column = threadIdx.x;
  if (column == 0) {
    for (int s = 0; s < STAGES; ++s) ptx::mbarrier_init(&full[s], 1);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  const int first = blockIdx.x, step = gridDim.x;
  const auto load = [&](int row, int s) {
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[s],
                                   sizeof stage[s]);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, stage[s],  // FOUND
                       matrix + (size_t)row * COLUMNS, sizeof stage[s], &full[s]);
  };
  if (column == 0) {
    for (int s = 0; s < STAGES; ++s) {
      load(first + s * step, s);  // MISTAKE: also rows that do not exist
    }
  }
  int sum = 0;
  int s = 0;
  unsigned phase = 0;
  for (int row = first; row < rows; row += step) {
    while (!ptx::mbarrier_try_wait_parity(&full[s], phase)) {
    }
    sum += stage[s][column];
    __syncthreads();
    if (column == 0 && row + STAGES * step < rows) load(row + STAGES * step, s);
    if (++s == STAGES) {
      s = 0;
      phase ^= 1;
    }
  }
  total[column] = sum;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (column == 0) {
    ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, sums, total,
                              sizeof total);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}

int main(int argc, char **argv) {
  const int rows = argc > 1 ? atoi(argv[1]) : 17;
  const size_t bytes = sizeof(int) * rows * COLUMNS;
  int *matrix = (int *)malloc(bytes), sums[COLUMNS];
  for (int i = 0; i < rows * COLUMNS; ++i) matrix[i] = i % 1009;
  int *d_matrix, *d_sums;
  CHECK(cudaMalloc(&d_matrix, bytes));
  CHECK(cudaMalloc(&d_sums, sizeof sums));
  CHECK(cudaMemcpy(d_matrix, matrix, bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(d_sums, 0, sizeof sums));
  column_sums<<<7, COLUMNS>>>(d_matrix, d_sums, rows);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(sums, d_sums, sizeof sums, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int column = 0; column < COLUMNS; ++column) {
    int expected = 0;
    for (int row = 0; row < rows; ++row) expected += matrix[row * COLUMNS + column];
    wrong += sums[column] != expected;
  }
  printf("%d rows of %d columns, %d sums wrong\n", rows, COLUMNS, wrong);
  CHECK(cudaFree(d_matrix));
  CHECK(cudaFree(d_sums));
  free(matrix);
  return wrong != 0;
}
