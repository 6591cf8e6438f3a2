// Each thread sums a ROWS x COLUMNS rectangle of C: an outer product in registers.
//
// Idea:    ROWS values of A and COLUMNS of B, once in registers, give ROWS * COLUMNS products.
// Changes: shared loads per FFMA fall to 1/ROWS + 1/COLUMNS. The kernel turns from bound by shared
//          memory to bound by the FP32 units, if enough registers remain for latency hiding.
// Counter: shared load wavefronts per FFMA; registers per thread.
//
// A is m x k, B is k x n, C is m x n, all row-major; m, n, k multiples of BM, BN, BK.
// Launch: block (BM / ROWS) * (BN / COLUMNS) threads, grid (n / BN, m / BM).
constexpr int threads = (BM / ROWS) * (BN / COLUMNS);

extern "C" __global__ void __launch_bounds__(threads)
    matmul(const float* A, const float* B, float* C, int m, int n, int k) {
  static_assert(threads % BK == 0 && threads % BN == 0, "each thread loads whole columns");
  __shared__ float a_tile[BM][BK];
  __shared__ float b_tile[BK][BN];

  const int first_row = blockIdx.y * BM;
  const int first_column = blockIdx.x * BN;
  const int my_row = threadIdx.x / (BN / COLUMNS) * ROWS;
  const int my_column = threadIdx.x % (BN / COLUMNS);

  float sum[ROWS][COLUMNS] = {};
  for (int start = 0; start < k; start += BK) {
    for (int r = threadIdx.x / BK; r < BM; r += threads / BK) {
      const int c = threadIdx.x % BK;
      a_tile[r][c] = A[(first_row + r) * k + start + c];
    }
    for (int r = threadIdx.x / BN; r < BK; r += threads / BN) {
      const int c = threadIdx.x % BN;
      b_tile[r][c] = B[(start + r) * n + first_column + c];
    }
    __syncthreads();

    for (int i = 0; i < BK; ++i) {
      float a_values[ROWS];
      float b_values[COLUMNS];
      for (int r = 0; r < ROWS; ++r) a_values[r] = a_tile[my_row + r][i];
      // Columns BN / COLUMNS apart, so that the lanes of a warp read neighbouring words.
      for (int c = 0; c < COLUMNS; ++c) b_values[c] = b_tile[i][my_column + c * (BN / COLUMNS)];
      for (int r = 0; r < ROWS; ++r) {
        for (int c = 0; c < COLUMNS; ++c) sum[r][c] += a_values[r] * b_values[c];
      }
    }
    __syncthreads();
  }
  for (int r = 0; r < ROWS; ++r) {
    for (int c = 0; c < COLUMNS; ++c) {
      C[(first_row + my_row + r) * n + first_column + my_column + c * (BN / COLUMNS)] = sum[r][c];
    }
  }
}
