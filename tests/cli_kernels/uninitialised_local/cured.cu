// The thread's own counters begin at zero.
__global__ void count(const int* x, int* y) {
  int counters[4] = {0, 0, 0, 0};
  for (int i = 0; i < 8; ++i) counters[x[8 * threadIdx.x + i] % 4] = i;
  int sum = 0;
  for (int i = 0; i < 4; ++i) sum += counters[(x[0] + i) % 4];
  y[threadIdx.x] = sum;
}
