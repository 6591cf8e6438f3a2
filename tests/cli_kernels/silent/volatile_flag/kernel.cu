// A chain of blocks: each waits for the flag of the one before.
__global__ void chain(int* data, volatile int* flags, int* out) {
  int b = blockIdx.x;
  if (threadIdx.x == 0) {
    int before = 0;
    if (b > 0) { while (flags[b - 1] == 0) {} __threadfence(); before = data[b - 1]; }
    data[b] = before + b;
    __threadfence();
    flags[b] = 1;
    out[b] = before;
  }
}
