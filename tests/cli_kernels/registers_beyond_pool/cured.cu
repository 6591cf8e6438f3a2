// Three warpgroups begin with 168 registers per thread: what two take, the third has to give.
__global__ void __launch_bounds__(384, 1) roles(const int* x, int* y) {
  __shared__ int tile[384];
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    for (int i = threadIdx.x; i < 384; i += 128) tile[i] = x[i];
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  }
  __syncthreads();
  y[threadIdx.x] = tile[383 - threadIdx.x];
}
