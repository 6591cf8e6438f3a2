// x along the rows: the same kernel, uncoalesced.
//
// Idea:    exchange the roles of x and y, and nothing else.
// Changes: neighbouring threads touch elements a whole row apart.
// Counter: sectors per request: 32 where 01 has 4.
//
// out = factor * in, m rows of n columns. Launch: block (16, 16), grid (m / 16, n / 16), rounded up.
extern "C" __global__ void scale(const ELEMENT* in, ELEMENT* out, long long n, long long m,
                                 ELEMENT factor) {
  const long long row = blockIdx.x * blockDim.x + threadIdx.x;
  const long long column = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < m && column < n) out[row * n + column] = factor * in[row * n + column];
}
