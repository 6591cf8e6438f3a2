// 06_tiled with the threads' x along the rows of C: the tile of A is read down a column.
//
// Idea:    the same tiles, but lane i of a warp reads a_tile[i][...]: addresses TILE words apart.
// Changes: with TILE = 32 all 32 lanes hit the same bank, and the read takes 32 turns.
// Counter: shared load bank conflicts; at TILE = 32 a 4-byte read has 32 wavefronts instead of 1.
//
// A is m x k, B is k x n, C is m x n, all row-major and multiples of TILE.
// Launch: block (TILE, TILE), grid (m / TILE, n / TILE) with x along the rows.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k) {
  __shared__ float a_tile[TILE][TILE];
  __shared__ float b_tile[TILE][TILE];

  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const int row = blockIdx.x * TILE + tx;
  const int column = blockIdx.y * TILE + ty;

  float sum = 0.0f;
  for (int phase = 0; phase < k / TILE; ++phase) {
    a_tile[tx][ty] = A[row * k + phase * TILE + ty];
    b_tile[tx][ty] = B[(phase * TILE + tx) * n + column];
    __syncthreads();

    for (int i = 0; i < TILE; ++i) {
      sum += a_tile[tx][i] * b_tile[i][ty];
    }
    __syncthreads();
  }
  C[row * n + column] = sum;
}
