// Every block writes its part, every block reads all: the grid must wait in between.
#include <cooperative_groups.h>
__global__ void normalise(const float* x, float* largest, float* y) {
  int b = blockIdx.x;
  largest[b] = fmaxf(x[2 * b], x[2 * b + 1]);
  cooperative_groups::this_grid().sync();
  float most = 0.0f;
  for (int i = 0; i < gridDim.x; ++i) most = fmaxf(most, largest[i]);
  y[2 * b] = x[2 * b] / most;
  y[2 * b + 1] = x[2 * b + 1] / most;
}
