// Lanes 0 to 15 name lanes 16 to 31 in the mask, which take the other way.
__global__ void sum(const int* x, int* y) {
  int t = threadIdx.x;
  int value = x[t];
  if (t < 16) {
    for (int half = 8; half > 0; half /= 2) value += __shfl_down_sync(0x0000ffff, value, half, 16);
    if (t == 0) y[0] = value;
  }
}
