// All lanes of a warp contend for a lock; each leaves the loop when it has had it.
__device__ int lock;
__global__ void k(int* total) {
  bool done = false;
  while (!done) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      *((volatile int*)total) += 1;
      __threadfence();
      atomicExch(&lock, 0);
      done = true;
    }
  }
}
