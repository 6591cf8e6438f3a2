// Collatz steps until 1 is reached: from 0 it never is.
__global__ void steps(const unsigned* x, unsigned* y) {
  unsigned value = x[threadIdx.x], count = 0;
  while (value > 1) {
    value = value % 2 == 0 ? value / 2 : 3 * value + 1;
    ++count;
  }
  y[threadIdx.x] = count;
}
