// Half of the threads wait for the other half, which never comes.
__global__ void halves(const int* x, int* y) {
  __shared__ int tile[64];
  int t = threadIdx.x;
  tile[t] = x[t];
  __syncthreads();
  y[t] = tile[t];
}
