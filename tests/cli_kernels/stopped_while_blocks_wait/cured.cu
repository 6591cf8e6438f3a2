// Block 0 hands its result to block 1; then block 0 sets a flag, and block 1 waits for it.
__global__ void hand_over(int* data, volatile int* ready, volatile int* never, int* out) {
  if (blockIdx.x == 0) {
    data[0] = 7;
    __threadfence();
    ready[0] = 1;
  } else {
    while (ready[0] == 0) {}
    __threadfence();
    out[0] = data[0];
  }
  if (blockIdx.x == 0) never[0] = 1;
  for (int i = 0; never[0] == 0 && i < 1000000000; ++i) {}
}
