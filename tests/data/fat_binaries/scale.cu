__constant__ float factor[2];
__device__ int counter;
extern "C" __global__ void scale(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    x[i] *= factor[i & 1];
    atomicAdd(&counter, 1);
  }
}
