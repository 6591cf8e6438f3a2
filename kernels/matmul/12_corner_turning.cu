// B is column-major: its tile is loaded along its columns and transposed in shared memory.
//
// Idea:    coalescing belongs to the load, not to the use. Consecutive threads load consecutive
//          elements of a column of B, and store them down a column of the tile; the product then
//          reads the tile along rows as if B had been row-major.
// Changes: the loads of B stay at 4 sectors per request, where reading B[i][column] directly would
//          need one sector per lane. A column of padding keeps transposed stores free of conflicts.
// Counter: global sectors per request as in 10; shared store conflicts 0.
//
// A is m x k row-major, B is k x n column-major (leading dimension k), C is m x n row-major.
// Launch: block (TILE, TILE), grid covers C.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k) {
  __shared__ float a_tile[TILE][TILE];
  __shared__ float b_tile[TILE][TILE + 1];

  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const int column = blockIdx.x * TILE + tx;
  const int row = blockIdx.y * TILE + ty;
  const int b_column = blockIdx.x * TILE + ty;  // the column this thread loads, not the one it sums

  float sum = 0.0f;
  for (int start = 0; start < k; start += TILE) {
    const int step = start + tx;
    a_tile[ty][tx] = row < m && step < k ? A[row * k + step] : 0.0f;
    b_tile[tx][ty] = b_column < n && step < k ? B[b_column * k + step] : 0.0f;
    __syncthreads();

    for (int i = 0; i < TILE; ++i) {
      sum += a_tile[ty][i] * b_tile[i][tx];
    }
    __syncthreads();
  }
  if (row < m && column < n) C[row * n + column] = sum;
}
