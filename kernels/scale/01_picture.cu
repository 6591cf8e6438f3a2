// A picture in 16 x 16 blocks: the lecture's mapping of threads to two dimensions.
//
// Idea:    thread and block index have an x for the column and a y for the row.
// Changes: blocks at the right and lower edge reach beyond the picture, and warps that reach over
//          the right one diverge: 31 of the 160 of a picture of 62 rows and 76 columns.
// Counter: divergent branches; half-warps read 64-byte pieces of two rows.
//
// out = factor * in, m rows of n columns. Launch: block (16, 16), grid (n / 16, m / 16), rounded up.
extern "C" __global__ void scale(const ELEMENT* in, ELEMENT* out, long long n, long long m,
                                 ELEMENT factor) {
  const long long row = blockIdx.y * blockDim.y + threadIdx.y;
  const long long column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < m && column < n) out[row * n + column] = factor * in[row * n + column];
}
