// A grid that may begin before the last one has ended waits before it reads what that one writes.
__global__ void produce(const int* x, int* middle) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  middle[i] = 2 * x[i];
  asm volatile("griddepcontrol.launch_dependents;");
}

__global__ void consume(const int* middle, int* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = middle[i] + 1;
}
