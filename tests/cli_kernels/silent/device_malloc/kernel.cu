// Memory from the heap of the device.
__global__ void k(int* y) {
  int* p = (int*)malloc(16 * sizeof(int));
  for (int i = 0; i < 16; ++i) p[i] = i * threadIdx.x;
  int s = 0; for (int i = 0; i < 16; ++i) s += p[i];
  free(p);
  y[threadIdx.x] = s;
}
