// 300 KiB of shared memory are more than a block can have.
__global__ void fill(int* y) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = threadIdx.x;
  y[threadIdx.x] = tile[threadIdx.x];
}
