// A flag is polled by relaxed reads, and one fence behind the loop acquires.
#include <cuda/atomic>
__device__ int value;
__device__ cuda::atomic<int, cuda::thread_scope_device> ready{0};
__global__ void k(const int* x, int* y) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    value = x[3];
    ready.store(1, cuda::memory_order_release);
  } else {
    while (ready.load(cuda::memory_order_relaxed) == 0) __nanosleep(20);
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    y[blockIdx.x] = value;
  }
}
