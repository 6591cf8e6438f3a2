// The vendor's block primitives in one workspace, with barriers between them.
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_store.cuh>
__global__ void k(const int* x, int* y) {
  typedef cub::BlockLoad<int, 64, 4, cub::BLOCK_LOAD_TRANSPOSE> Load;
  typedef cub::BlockStore<int, 64, 4, cub::BLOCK_STORE_TRANSPOSE> Store;
  typedef cub::BlockRadixSort<int, 64, 4> Sort;
  __shared__ union { Load::TempStorage load; Store::TempStorage store; Sort::TempStorage sort; } temp;
  int keys[4];
  Load(temp.load).Load(x + blockIdx.x * 256, keys);
  __syncthreads();
  Sort(temp.sort).Sort(keys);
  __syncthreads();
  Store(temp.store).Store(y + blockIdx.x * 256, keys);
}
