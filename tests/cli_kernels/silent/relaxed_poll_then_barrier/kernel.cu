// One thread polls for its block; the barrier behind it orders what all threads read.
#include <cuda/atomic>
__device__ int value[32];
__device__ cuda::atomic<int, cuda::thread_scope_device> ready{0};
__global__ void k(const int* x, int* y) {
  if (blockIdx.x == 0) {
    value[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
      cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
      ready.store(1, cuda::memory_order_relaxed);
    }
  } else {
    if (threadIdx.x == 0) while (ready.load(cuda::memory_order_relaxed) == 0) {}
    __syncthreads();
    y[threadIdx.x] = value[31 - threadIdx.x];
  }
}
