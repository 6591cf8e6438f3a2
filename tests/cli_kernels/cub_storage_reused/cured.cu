// Two steps of a library share its workspace: all threads must have left the first.
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
__global__ void sort(const int* x, int* y) {
  using Load = cub::BlockLoad<int, 64, 2, cub::BLOCK_LOAD_TRANSPOSE>;
  using Sort = cub::BlockRadixSort<int, 64, 2>;
  __shared__ union {
    Load::TempStorage load;
    Sort::TempStorage sort;
  } space;
  int keys[2];
  Load(space.load).Load(x, keys);
  __syncthreads();
  Sort(space.sort).Sort(keys);
  y[2 * threadIdx.x] = keys[0];
  y[2 * threadIdx.x + 1] = keys[1];
}
