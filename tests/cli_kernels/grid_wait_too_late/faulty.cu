// Constants may be read before the wait for the last grid; what it writes may not.
__global__ void produce(const int* x, int* middle) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  middle[i] = 2 * x[i];
  asm volatile("griddepcontrol.launch_dependents;");
}

__global__ void consume(const int* x, const int* middle, int* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int factor = x[1];
  const int value = middle[i];
  asm volatile("griddepcontrol.wait;" ::: "memory");
  y[i] = factor * value;
}
