// C = A * B for square matrices, tiles of 8 x 8 in shared memory.
#define TILE 8
__global__ void matmul(const float* A, const float* B, float* C, int n) {
  __shared__ float a_tile[TILE][TILE];
  __shared__ float b_tile[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
  float sum = 0.0f;
  for (int phase = 0; phase < n / TILE; ++phase) {
    a_tile[ty][tx] = A[row * n + phase * TILE + tx];
    b_tile[ty][tx] = B[(phase * TILE + ty) * n + column];
    __syncthreads();
    for (int i = 0; i <= TILE; ++i) sum += a_tile[ty][i] * b_tile[i][tx];
    __syncthreads();
  }
  C[row * n + column] = sum;
}
