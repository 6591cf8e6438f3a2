// 15_vector_loads with two sets of tiles: the next is on its way while this one is multiplied.
//
// Idea:    cp.async copies from global to shared memory in the background. While the block works
//          on one buffer the copies fill the other; one barrier a phase is enough.
// Changes: the latency of global memory disappears behind the arithmetic, even with few warps.
// Counter: stalls on long scoreboard (global loads) vanish; shared bytes per block double.
//
// A is m x k, B is k x n, C is m x n, all row-major; m, n, k multiples of BM, BN, BK.
// Launch: block (BM / 8) * (BN / 8) threads, grid (n / BN, m / BM).
#include "async_copy.cuh"
#include "float4.cuh"

constexpr int threads = (BM / 8) * (BN / 8);
constexpr int pad = 4;  // keeps rows 16-byte aligned and spreads the transposed copies

struct Tiles {
  float a[BK][BM + pad];  // transposed: [step][row]
  float b[BK][BN];
};

__device__ inline void start_copies(Tiles& tiles, const float* A, const float* B, int n, int k,
                                    int first_row, int first_column, int start) {
  for (int i = threadIdx.x; i < BM * BK; i += threads) {
    copy_4_bytes(&tiles.a[i % BK][i / BK], &A[(first_row + i / BK) * k + start + i % BK]);
  }
  for (int i = 4 * threadIdx.x; i < BK * BN; i += 4 * threads) {
    copy_16_bytes(&tiles.b[i / BN][i % BN], &B[(start + i / BN) * n + first_column + i % BN]);
  }
  commit_copies();
}

extern "C" __global__ void __launch_bounds__(threads)
    matmul(const float* A, const float* B, float* C, int m, int n, int k) {
  __shared__ __align__(16) Tiles tiles[2];

  const int first_row = blockIdx.y * BM;
  const int first_column = blockIdx.x * BN;
  const int my_row = threadIdx.x / (BN / 8) * 4;
  const int my_column = threadIdx.x % (BN / 8) * 4;

  float sum[8][8] = {};
  if (k > 0) start_copies(tiles[0], A, B, n, k, first_row, first_column, 0);
  for (int phase = 0; phase < k / BK; ++phase) {
    wait_for_copies<0>();
    // After this barrier all copies of this phase have arrived, and no thread still reads the
    // buffer that the next copies overwrite.
    __syncthreads();
    if ((phase + 1) * BK < k) {
      start_copies(tiles[(phase + 1) % 2], A, B, n, k, first_row, first_column, (phase + 1) * BK);
    }

    const Tiles& now = tiles[phase % 2];
    for (int i = 0; i < BK; ++i) {
      float a_values[8];
      float b_values[8];
      as_float4(a_values[0]) = as_float4(now.a[i][my_row]);
      as_float4(a_values[4]) = as_float4(now.a[i][my_row + BM / 2]);
      as_float4(b_values[0]) = as_float4(now.b[i][my_column]);
      as_float4(b_values[4]) = as_float4(now.b[i][my_column + BN / 2]);
      for (int r = 0; r < 8; ++r) {
        for (int c = 0; c < 8; ++c) sum[r][c] += a_values[r] * b_values[c];
      }
    }
  }
  for (int r = 0; r < 8; ++r) {
    const int row = first_row + my_row + (r < 4 ? r : BM / 2 + r - 4);
    float* c = C + row * n + first_column + my_column;
    as_float4(c[0]) = as_float4(sum[r][0]);
    as_float4(c[BN / 2]) = as_float4(sum[r][4]);
  }
}
