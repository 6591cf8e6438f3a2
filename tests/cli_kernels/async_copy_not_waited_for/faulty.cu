// The copy to shared memory is still under way when it is read.
__global__ void copy(const int* x, int* y) {
  __shared__ int tile[32];
  unsigned to = __cvta_generic_to_shared(&tile[threadIdx.x]);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(x + threadIdx.x) : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  y[threadIdx.x] = tile[threadIdx.x];
}
