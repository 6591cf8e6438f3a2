// 14_register_tile_2d with 128-bit loads and stores throughout.
//
// Idea:    one instruction moves four floats. The tile of A is stored transposed, so that the
//          values a thread needs in one step are neighbours and can be loaded as float4.
// Changes: a quarter of the load and store instructions, global and shared.
// Counter: shared load instructions per FFMA; global load requests fall to a quarter at the same
//          number of sectors (16 sectors a request).
//
// A is m x k, B is k x n, C is m x n, all row-major; m, n, k multiples of BM, BN, BK.
// Launch: block (BM / 8) * (BN / 8) threads, grid (n / BN, m / BM).
#include "float4.cuh"

constexpr int threads = (BM / 8) * (BN / 8);

extern "C" __global__ void __launch_bounds__(threads)
    matmul(const float* A, const float* B, float* C, int m, int n, int k) {
  static_assert(BM * BK == 4 * threads && BK * BN == 4 * threads, "one float4 a tile per thread");
  constexpr int pad = 4;  // keeps rows 16-byte aligned and spreads the transposed stores
  __shared__ __align__(16) float a_tile[BK][BM + pad];
  __shared__ __align__(16) float b_tile[BK][BN];

  const int first_row = blockIdx.y * BM;
  const int first_column = blockIdx.x * BN;
  const int my_row = threadIdx.x / (BN / 8) * 4;  // and the same BM / 2 further down
  const int my_column = threadIdx.x % (BN / 8) * 4;  // and the same BN / 2 further right

  const int a_row = threadIdx.x / (BK / 4), a_step = threadIdx.x % (BK / 4) * 4;
  const int b_step = threadIdx.x / (BN / 4), b_column = threadIdx.x % (BN / 4) * 4;
  const float* a = A + (first_row + a_row) * k + a_step;
  const float* b = B + b_step * n + first_column + b_column;

  float sum[8][8] = {};
  for (int start = 0; start < k; start += BK) {
    const float4 a_loaded = as_float4(a[start]);
    a_tile[a_step + 0][a_row] = a_loaded.x;
    a_tile[a_step + 1][a_row] = a_loaded.y;
    a_tile[a_step + 2][a_row] = a_loaded.z;
    a_tile[a_step + 3][a_row] = a_loaded.w;
    as_float4(b_tile[b_step][b_column]) = as_float4(b[start * n]);
    __syncthreads();

    for (int i = 0; i < BK; ++i) {
      float a_values[8];
      float b_values[8];
      as_float4(a_values[0]) = as_float4(a_tile[i][my_row]);
      as_float4(a_values[4]) = as_float4(a_tile[i][my_row + BM / 2]);
      as_float4(b_values[0]) = as_float4(b_tile[i][my_column]);
      as_float4(b_values[4]) = as_float4(b_tile[i][my_column + BN / 2]);
      for (int r = 0; r < 8; ++r) {
        for (int c = 0; c < 8; ++c) sum[r][c] += a_values[r] * b_values[c];
      }
    }
    __syncthreads();
  }
  for (int r = 0; r < 8; ++r) {
    const int row = first_row + my_row + (r < 4 ? r : BM / 2 + r - 4);
    float* c = C + row * n + first_column + my_column;
    as_float4(c[0]) = as_float4(sum[r][0]);
    as_float4(c[BN / 2]) = as_float4(sum[r][4]);
  }
}
