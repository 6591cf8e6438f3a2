// A flag handed from lane to lane by volatile accesses and fences.
__global__ void k(int* flag, int* x) {
  int i = threadIdx.x;
  if (i > 0) while (*(volatile int*)&flag[i - 1] == 0) {}
  __threadfence();
  x[i] = i == 0 ? 1 : ((volatile int*)x)[i - 1] + 1;
  __threadfence();
  *(volatile int*)&flag[i] = 1;
}
