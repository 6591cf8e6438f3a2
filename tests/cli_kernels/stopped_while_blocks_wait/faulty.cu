// Block 0 hands its result to block 1; then both wait for a flag that nobody sets. Block 1 reads
// what block 0 has written, so the only defect is that the launch does not end.
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
  while (never[0] == 0) {}
}
