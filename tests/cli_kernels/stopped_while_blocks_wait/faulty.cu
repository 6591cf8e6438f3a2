// Block 0 hands its result to block 1; then both look a billion times at a flag that nobody
// sets. Block 1 reads what block 0 has written, so the only defect is that the launch is too long.
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
  for (int i = 0; never[0] == 0 && i < 1000000000; ++i) {}
}
