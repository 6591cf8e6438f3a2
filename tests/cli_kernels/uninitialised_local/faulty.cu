// Only those of the thread's own counters that are hit become defined.
__global__ void count(const int* x, int* y) {
  int counters[4];
  for (int i = 0; i < 8; ++i) counters[x[8 * threadIdx.x + i] % 4] = i;
  int sum = 0;
  for (int i = 0; i < 4; ++i) sum += counters[(x[0] + i) % 4];
  y[threadIdx.x] = sum;
}
