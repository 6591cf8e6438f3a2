// One warp hands a value to another through a flag in shared memory.
#include <cuda/atomic>
__global__ void pass(const int* x, int* y) {
  __shared__ int value, ready;
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  cuda::atomic_ref<int, cuda::thread_scope_block> flag(ready);
  if (threadIdx.x == 0) {
    value = x[5];
    flag.store(1, cuda::memory_order_release);
  } else if (threadIdx.x == 32) {
    while (flag.load(cuda::memory_order_relaxed) == 0) {}
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_block);
    *y = value;
  }
}
