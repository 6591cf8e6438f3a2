// The counter never reaches its end: it steps over it.
__global__ void steps(int* y, int n) {
  int i = 0;
  while (i < n) {
    i += 2;
    y[threadIdx.x] = i;
  }
}
