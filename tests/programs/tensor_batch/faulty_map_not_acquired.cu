// The greatest element of each matrix of a batch: the matrices have different extents, so each has
// a tensor map of its own, in an array of maps that the host copies to the device.
// Usage: tensor_batch [matrices]
#include <cuda.h>
#include <cuda/ptx>
#include <stdint.h>
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

constexpr int TILE = 16;

__global__ void greatest(const CUtensorMap *maps, const int2 *extents, int *result) {
  __shared__ alignas(128) int tile[TILE][TILE];
  __shared__ alignas(8) uint64_t full;
  const CUtensorMap *map = &maps[blockIdx.x];
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  int own = 0;
  unsigned parity = 0;
  for (int y = 0; y < extents[blockIdx.x].y; y += TILE) {
    for (int x = 0; x < extents[blockIdx.x].x; x += TILE, parity ^= 1) {
      if (threadIdx.x == 0) {
        const int at[] = {x, y};
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full,
                                       sizeof tile);
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile,  // MISTAKE
                                  map, at, &full);
      }
      while (!ptx::mbarrier_try_wait_parity(&full, parity)) {}
      for (int i = threadIdx.x; i < TILE * TILE; i += blockDim.x) {
        own = max(own, tile[i / TILE][i % TILE]);
      }
      __syncthreads();
    }
  }
  atomicMax(&result[blockIdx.x], own);
}

typedef CUresult (*Encode)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                           const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                           const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                           CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

Encode find_encoder() {
  void *function = NULL;
  cudaDriverEntryPointQueryResult found;
  CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                         cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess) {
    fprintf(stderr, "the driver has no tensor maps\n");
    exit(1);
  }
  return (Encode)function;
}

void describe(Encode encode, CUtensorMap *map, int *matrix, int2 extents, int pitch) {
  const cuuint64_t sizes[] = {(cuuint64_t)extents.x, (cuuint64_t)extents.y};
  const cuuint64_t strides[] = {pitch * sizeof(int)};
  const cuuint32_t box[] = {TILE, TILE}, steps[] = {1, 1};
  const CUresult result =
      encode(map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, matrix, sizes, strides, box, steps,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
             CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    fprintf(stderr, "cuTensorMapEncodeTiled: error %d\n", (int)result);
    exit(1);
  }
}

int main(int argc, char **argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 5;
  const Encode encode = find_encoder();
  CUtensorMap *maps = (CUtensorMap *)aligned_alloc(128, count * sizeof(CUtensorMap));
  int2 *extents = (int2 *)malloc(count * sizeof(int2));
  int **matrices = (int **)malloc(count * sizeof(int *));
  int *expected = (int *)calloc(count, sizeof(int));
  for (int b = 0; b < count; ++b) {
    extents[b] = make_int2(9 + 7 * b, 20 + 3 * b);
    const int pitch = (extents[b].x + 3) / 4 * 4;
    int *matrix = (int *)calloc(pitch * extents[b].y, sizeof(int));
    for (int y = 0; y < extents[b].y; ++y) {
      for (int x = 0; x < extents[b].x; ++x) {
        const int value = (x * 37 + y * 101 + b * 13) % 1009;
        matrix[y * pitch + x] = value;
        if (value > expected[b]) expected[b] = value;
      }
    }
    const size_t bytes = sizeof(int) * pitch * extents[b].y;
    CHECK(cudaMalloc(&matrices[b], bytes));
    CHECK(cudaMemcpy(matrices[b], matrix, bytes, cudaMemcpyHostToDevice));
    free(matrix);
    describe(encode, &maps[b], matrices[b], extents[b], pitch);
  }
  CUtensorMap *d_maps;
  int2 *d_extents;
  int *d_result, *result = (int *)malloc(count * sizeof(int));
  CHECK(cudaMalloc(&d_maps, count * sizeof(CUtensorMap)));
  CHECK(cudaMalloc(&d_extents, count * sizeof(int2)));
  CHECK(cudaMalloc(&d_result, count * sizeof(int)));
  CHECK(cudaMemcpy(d_maps, maps, count * sizeof(CUtensorMap), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_extents, extents, count * sizeof(int2), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(d_result, 0, count * sizeof(int)));
  greatest<<<count, 64>>>(d_maps, d_extents, d_result);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(result, d_result, count * sizeof(int), cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int b = 0; b < count; ++b) wrong += result[b] != expected[b];
  printf("%d matrices, %d results wrong\n", count, wrong);
  for (int b = 0; b < count; ++b) CHECK(cudaFree(matrices[b]));
  CHECK(cudaFree(d_maps));
  CHECK(cudaFree(d_extents));
  CHECK(cudaFree(d_result));
  free(maps);
  free(extents);
  free(matrices);
  free(expected);
  free(result);
  return wrong != 0;
}
