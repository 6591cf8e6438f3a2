// A tile of 8 waits for its own 8 threads only; the element is of the neighbouring tile.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void mirror(const int* x, int* y) {
  __shared__ int s[32];
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  int t = threadIdx.x;
  s[t] = x[t];
  tile.sync();
  y[t] = s[31 - t];
}
