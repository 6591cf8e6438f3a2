// No more than the block's threads need.
__global__ void fill(int* y) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = threadIdx.x;
  y[threadIdx.x] = tile[threadIdx.x];
}
