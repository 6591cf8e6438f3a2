// Bins of the whole grid, counted with the scope of a block.
#include <cuda/atomic>
__global__ void bins(const int* x, int* bin) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  cuda::atomic_ref<int, cuda::thread_scope_device> mine(bin[x[i] % 4]);
  mine.fetch_add(1, cuda::memory_order_relaxed);
}
