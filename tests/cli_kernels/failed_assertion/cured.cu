#include <cassert>
// The promise that every value is positive.
__global__ void check(const int* x, int* y) {
  assert(x[threadIdx.x] >= 0);
  y[threadIdx.x] = x[threadIdx.x];
}
