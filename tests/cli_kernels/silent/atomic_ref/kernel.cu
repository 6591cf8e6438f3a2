// Atomics through the standard library's references.
#include <cuda/atomic>
__global__ void k(const int* x, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { cuda::atomic_ref<int, cuda::thread_scope_device> r(y[x[i] % 8]); r.fetch_add(1, cuda::memory_order_relaxed); r.fetch_max(3); }
}
