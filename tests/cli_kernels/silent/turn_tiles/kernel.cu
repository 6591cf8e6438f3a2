// A transposition by tiles of 16 x 16, rows padded to 17.
__global__ void turn(const double* in, double* out, int rows, int columns) {
  __shared__ double tile[16][17];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int column = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty;
  if (row < rows && column < columns) tile[ty][tx] = in[row * columns + column];
  __syncthreads();
  const int to_column = blockIdx.y * 16 + tx, to_row = blockIdx.x * 16 + ty;
  if (to_row < columns && to_column < rows) out[to_row * rows + to_column] = tile[tx][ty];
}
