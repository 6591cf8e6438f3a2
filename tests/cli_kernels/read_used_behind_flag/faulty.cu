// Blocks move an array to the left in place. Each may overwrite its neighbour's elements once that
// one has read them, which a flag says.
#include <cuda/atomic>

using Flag = cuda::atomic_ref<int, cuda::thread_scope_device>;

__global__ void shift(int* x, int* flags, int shift_by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int value = x[i];
  __syncthreads();
  if (threadIdx.x == 0) {
    Flag(flags[blockIdx.x]).store(1, cuda::memory_order_relaxed);
    while (blockIdx.x > 0 && Flag(flags[blockIdx.x - 1]).load(cuda::memory_order_relaxed) == 0) {}
  }
  __syncthreads();
  if (i >= shift_by) x[i - shift_by] = value;
}
