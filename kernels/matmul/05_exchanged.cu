// 03_register_accumulator with x and y exchanged: the classic mistake.
//
// Idea:    threadIdx.x, which runs fastest within a warp, names the row instead of the column.
// Changes: neighbouring threads read and write addresses a whole row apart. Each lane touches a
//          sector of its own and uses 4 of its 32 bytes.
// Counter: 32 sectors per request for A and C with a 32-wide block, where 03 needs 1 and 4.
//
// A is m x k, B is k x n, C is m x n, all row-major. Launch: block (WIDTH, WIDTH), grid covers C
// with x along the rows.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  const int column = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || column >= n) return;

  float sum = 0.0f;
  for (int i = 0; i < k; ++i) {
    sum += A[row * k + i] * B[i * n + column];
  }
  C[row * n + column] = sum;
}
