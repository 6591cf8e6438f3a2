// A grid of blocks; the sum is kept in C itself, in global memory.
//
// Idea:    two-dimensional blocks cover any C; every step reads and writes C[row][column].
// Changes: each multiplication costs three loads and a store. The compiler cannot keep the element
//          in a register, because C might overlap A or B.
// Counter: global store requests are k times those of 03_register_accumulator.
//
// A is m x k, B is k x n, C is m x n, all row-major. Launch: block (WIDTH, WIDTH), grid covers C.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || column >= n) return;

  C[row * n + column] = 0.0f;
  for (int i = 0; i < k; ++i) {
    C[row * n + column] += A[row * k + i] * B[i * n + column];
  }
}
