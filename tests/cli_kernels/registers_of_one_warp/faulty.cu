// All four warps of a warpgroup pass on their registers, even those that copy nothing.
__global__ void __launch_bounds__(384, 1) roles(const int* x, int* y) {
  __shared__ int tile[384];
  if (threadIdx.x < 128) {
    if (threadIdx.x < 32) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    for (int i = threadIdx.x; i < 384; i += 128) tile[i] = x[i];
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 184;");
  }
  __syncthreads();
  y[threadIdx.x] = tile[383 - threadIdx.x];
}
