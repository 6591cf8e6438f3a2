// Transposes a matrix with the copy engine: a tensor map for each side, a box at a time. What lies
// outside the matrix arrives as zeros and is never stored.
// Usage: tensor_transpose [rows columns]
#include <cuda.h>
#include <cuda/barrier>
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

using Barrier = cuda::barrier<cuda::thread_scope_block>;
namespace cde = cuda::device::experimental;

constexpr int TILE = 32;

__global__ void transpose(const __grid_constant__ CUtensorMap from,
                          const __grid_constant__ CUtensorMap to) {
  __shared__ alignas(128) float in[TILE][TILE];
  __shared__ alignas(128) float out[TILE][TILE];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier ready;
  const int x = blockIdx.x * TILE, y = blockIdx.y * TILE;
  if (threadIdx.x == 0) {
    init(&ready, blockDim.x);
    cde::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  Barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_global_to_shared(&in, &from, x, y, ready);
    token = cuda::device::barrier_arrive_tx(ready, 1, sizeof in);
  } else {
    token = ready.arrive();
  }
  (void)token;  // MISTAKE: nobody waits for the box
  for (int i = threadIdx.x; i < TILE * TILE; i += blockDim.x) {
    out[i / TILE][i % TILE] = in[i % TILE][i / TILE];  // FOUND
  }
  cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_shared_to_global(&to, y, x, &out);
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
  }
}

typedef CUresult (*Encode)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                           const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                           const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                           CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

CUtensorMap map_of(float *matrix, int rows, int columns, int pitch) {
  void *function = NULL;
  cudaDriverEntryPointQueryResult found;
  CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                         cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess) {
    fprintf(stderr, "the driver has no tensor maps\n");
    exit(1);
  }
  CUtensorMap map;
  const cuuint64_t extents[] = {(cuuint64_t)columns, (cuuint64_t)rows};
  const cuuint64_t strides[] = {pitch * sizeof(float)};
  const cuuint32_t box[] = {TILE, TILE}, steps[] = {1, 1};
  const CUresult result =
      ((Encode)function)(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, matrix, extents, strides, box,
                         steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                         CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    fprintf(stderr, "cuTensorMapEncodeTiled: error %d\n", (int)result);
    exit(1);
  }
  return map;
}

int main(int argc, char **argv) {
  const int rows = argc > 2 ? atoi(argv[1]) : 75, columns = argc > 2 ? atoi(argv[2]) : 101;
  const int pitch = (columns + 3) / 4 * 4, pitch_t = (rows + 3) / 4 * 4;
  const size_t bytes = sizeof(float) * rows * pitch, bytes_t = sizeof(float) * columns * pitch_t;
  float *a = (float *)calloc(rows * pitch, sizeof(float)), *t = (float *)malloc(bytes_t);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) a[i * pitch + j] = i * 1000 + j;
  }
  float *d_a, *d_t;
  CHECK(cudaMalloc(&d_a, bytes));
  CHECK(cudaMalloc(&d_t, bytes_t));
  CHECK(cudaMemcpy(d_a, a, bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(d_t, 0, bytes_t));
  const CUtensorMap from = map_of(d_a, rows, columns, pitch);
  const CUtensorMap to = map_of(d_t, columns, rows, pitch_t);
  const dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
  transpose<<<grid, 128>>>(from, to);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(t, d_t, bytes_t, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int j = 0; j < columns; ++j) {
    for (int i = 0; i < rows; ++i) wrong += t[j * pitch_t + i] != a[i * pitch + j];
  }
  printf("%d x %d transposed, %d elements wrong\n", rows, columns, wrong);
  CHECK(cudaFree(d_a));
  CHECK(cudaFree(d_t));
  free(a);
  free(t);
  return wrong != 0;
}
