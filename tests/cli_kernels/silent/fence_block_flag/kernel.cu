// One warp tells another by a flag, with fences of the block.
__global__ void k(const int* in, int* out) {
  __shared__ int data; __shared__ volatile int ready;
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  if (threadIdx.x == 0) { data = in[0]; __threadfence_block(); ready = 1; }
  if (threadIdx.x == 32) { while (!ready) {} __threadfence_block(); out[0] = data; }
}
