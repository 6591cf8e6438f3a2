// The masks name all lanes. Lanes 20 to 31 do not come: they leave, and the others go on without.
__global__ void count(const int* x, int* odd, int* y) {
  const int t = threadIdx.x;
  int value = x[t];
  if (t < 20) {
    odd[t] = __popc(__ballot_sync(0xffffffffu, value % 2));
    __syncwarp(0xffffffffu);
    value += odd[19 - t];
  } else {
    value = -value;
  }
  y[t] = value;
}
