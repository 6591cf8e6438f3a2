// The reader of a flag must acquire: what a relaxed read sees orders nothing behind it.
#include <cuda/atomic>
__global__ void pass(int* value, int* ready, int* y) {
  cuda::atomic_ref<int, cuda::thread_scope_device> flag(*ready);
  if (blockIdx.x == 0) {
    *value = 42;
    flag.store(1, cuda::memory_order_release);
  } else {
    while (flag.load(cuda::memory_order_acquire) == 0) {}
    *y = *value;
  }
}
