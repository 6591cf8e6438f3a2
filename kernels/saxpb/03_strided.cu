// Neighbouring threads take elements STRIDE apart: what uncoalesced access costs.
//
// Idea:    the same work as 02 in another order. Row y of the grid does the elements
//          y, y + STRIDE, y + 2 STRIDE, ...
// Changes: a warp's request touches up to 32 sectors instead of 4, and uses one element of each.
// Counter: sectors per request, for loads and stores alike: 4 bytes used of 32.
//
// y = a * x + b for n elements. Launch: grid (blocks over n / STRIDE, STRIDE).
extern "C" __global__ void saxpb(const ELEMENT* x, ELEMENT a, ELEMENT b, ELEMENT* y, long long n) {
  const long long column = threadIdx.x + blockIdx.x * static_cast<long long>(blockDim.x);
  const long long i = column * STRIDE + blockIdx.y;
  if (i < n) y[i] = a * x[i] + b;
}
