// The default scales are in global memory.
__device__ float defaults[32];

__global__ void rescale(float* x, float* own, bool has_own) {
  float* scales = has_own ? own : defaults;
  scales[threadIdx.x] = 2.0f * x[threadIdx.x];
  x[threadIdx.x] += 1.0f;
}
