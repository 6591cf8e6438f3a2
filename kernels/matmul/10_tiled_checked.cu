// 06_tiled for any m, n and k: what lies outside the matrices is loaded as zero.
//
// Idea:    a zero adds nothing to a sum, so only the loads and the final store need a condition,
//          not the inner loop. All threads reach both barriers, those outside C too.
// Changes: any shape works without padding the matrices in memory. The conditions cost a few
//          instructions a phase, and warps diverge in the edge tiles only.
// Counter: divergent branches appear in the blocks at the right and lower edges.
//
// A is m x k, B is k x n, C is m x n, all row-major, of float or double (ELEMENT). With ACCUMULATE
// the sum starts from C.
// Launch: block (TILE, TILE), grid covers C.
extern "C" __global__ void matmul(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, int m, int n,
                                  int k) {
  __shared__ ELEMENT a_tile[TILE][TILE];
  __shared__ ELEMENT b_tile[TILE][TILE];

  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const int column = blockIdx.x * TILE + tx;
  const int row = blockIdx.y * TILE + ty;

  ELEMENT sum = ACCUMULATE && row < m && column < n ? C[row * n + column] : ELEMENT(0);
  for (int start = 0; start < k; start += TILE) {
    const int a_column = start + tx;
    const int b_row = start + ty;
    a_tile[ty][tx] = row < m && a_column < k ? A[row * k + a_column] : ELEMENT(0);
    b_tile[ty][tx] = b_row < k && column < n ? B[b_row * n + column] : ELEMENT(0);
    __syncthreads();

    for (int i = 0; i < TILE; ++i) {
      sum += a_tile[ty][i] * b_tile[i][tx];
    }
    __syncthreads();
  }
  if (row < m && column < n) C[row * n + column] = sum;
}
