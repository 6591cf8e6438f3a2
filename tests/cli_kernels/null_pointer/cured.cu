// The optional mask is asked for before it is used.
__global__ void masked(const float* x, const float* mask, float* y) {
  y[threadIdx.x] = mask ? x[threadIdx.x] * mask[threadIdx.x] : x[threadIdx.x];
}
