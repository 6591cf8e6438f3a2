// The grid before never lets this one begin early, so it has ended: what it wrote may be read ahead
// of the wait, which is there for the data that grids before it wrote.
__global__ void split(const int* x, int* part) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  part[threadIdx.x] = x[threadIdx.x] / 2;
}

__global__ void gather(const int* x, const int* part, int* y) {
  const int from = part[threadIdx.x];
  asm volatile("griddepcontrol.wait;" ::: "memory");
  y[threadIdx.x] = x[from];
}
