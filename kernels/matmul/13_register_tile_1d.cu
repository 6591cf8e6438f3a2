// Each thread sums a column of ROWS elements of C in registers.
//
// Idea:    a value of B read from shared memory serves ROWS multiplications instead of one.
// Changes: shared loads per FFMA fall from 2 to 1 + 1/ROWS, and with them the load on the
//          shared-memory pipe that limits 06. The block tile grows to BM x BN, so global traffic
//          falls too.
// Counter: shared load wavefronts per FFMA.
//
// A is m x k, B is k x n, C is m x n, all row-major; m, n, k multiples of BM, BN, BK.
// Launch: block BM * BN / ROWS threads, grid (n / BN, m / BM).
constexpr int threads = BM * BN / ROWS;

extern "C" __global__ void __launch_bounds__(threads)
    matmul(const float* A, const float* B, float* C, int m, int n, int k) {
  static_assert(BM * BK == threads && BK * BN == threads, "one element of each tile per thread");
  __shared__ float a_tile[BM][BK];
  __shared__ float b_tile[BK][BN];

  const int first_row = blockIdx.y * BM;
  const int first_column = blockIdx.x * BN;
  const int my_row = threadIdx.x / BN * ROWS;
  const int my_column = threadIdx.x % BN;

  const float* a = A + (first_row + threadIdx.x / BK) * k + threadIdx.x % BK;
  const float* b = B + threadIdx.x / BN * n + first_column + threadIdx.x % BN;

  float sum[ROWS] = {};
  for (int start = 0; start < k; start += BK) {
    a_tile[threadIdx.x / BK][threadIdx.x % BK] = a[start];
    b_tile[threadIdx.x / BN][threadIdx.x % BN] = b[start * n];
    __syncthreads();

    for (int i = 0; i < BK; ++i) {
      const float b_value = b_tile[i][my_column];
      for (int r = 0; r < ROWS; ++r) sum[r] += a_tile[my_row + r][i] * b_value;
    }
    __syncthreads();
  }
  for (int r = 0; r < ROWS; ++r) {
    C[(first_row + my_row + r) * n + first_column + my_column] = sum[r];
  }
}
