// 64 floats take 256 bytes, and the launch gives as many.
__global__ void reverse(const float* x, float* y) {
  extern __shared__ float tile[];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
