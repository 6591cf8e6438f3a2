// The conflicts of 07 cured by transposing: the tiles are stored so that x is their fast index.
//
// Idea:    the thread that takes row tx stores and reads a_tile[...][tx]: the lanes of a warp
//          then touch 32 neighbouring words, one in each bank.
// Changes: no conflicts, no more shared memory. The global accesses stay those of 07, uncoalesced:
//          this rung against 07 is the price of the conflicts alone, 06 the price of both.
// Counter: shared load wavefronts fall to the ideal; global sectors per request stay.
//
// A is m x k, B is k x n, C is m x n, all row-major and multiples of TILE.
// Launch: block (TILE, TILE), grid (m / TILE, n / TILE) with x along the rows.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k) {
  __shared__ float a_tile[TILE][TILE];  // [step][row]
  __shared__ float b_tile[TILE][TILE];  // [column][step]

  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const int row = blockIdx.x * TILE + tx;
  const int column = blockIdx.y * TILE + ty;

  float sum = 0.0f;
  for (int phase = 0; phase < k / TILE; ++phase) {
    a_tile[ty][tx] = A[row * k + phase * TILE + ty];
    b_tile[ty][tx] = B[(phase * TILE + tx) * n + column];
    __syncthreads();

    for (int i = 0; i < TILE; ++i) {
      sum += a_tile[i][tx] * b_tile[ty][i];
    }
    __syncthreads();
  }
  C[row * n + column] = sum;
}
