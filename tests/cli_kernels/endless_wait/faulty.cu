// One block prepares data, the others wait for its flag. Block 0 sets the flag only if its first
// element is positive.
__global__ void prepare(const int* x, int* data, int* ready, int* out) {
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) {
      data[0] = x[0] + 1;
      __threadfence();
      if (x[0] > 0) atomicExch(ready, 1);
    } else {
      int attempts = 0;
      while (atomicAdd(ready, 0) == 0) ++attempts;
      __threadfence();
      out[2 * blockIdx.x] = data[0];
      out[2 * blockIdx.x + 1] = attempts > 0;
    }
  }
}
