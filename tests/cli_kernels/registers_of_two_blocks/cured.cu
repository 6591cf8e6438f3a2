// Two blocks share an SM, so that each begins with 128 registers per thread, and has no more.
__global__ void __launch_bounds__(256, 2) roles(const int* x, int* y) {
  __shared__ int tile[256];
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 88;");
    for (int i = threadIdx.x; i < 256; i += 128) tile[i] = x[i];
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 168;");
  }
  __syncthreads();
  y[threadIdx.x] = tile[255 - threadIdx.x];
}
