// The default scales are in constant memory, which kernels cannot change.
__constant__ float defaults[32];

__global__ void rescale(float* x, float* own, bool has_own) {
  float* scales = has_own ? own : const_cast<float*>(defaults);
  scales[threadIdx.x] = 2.0f * x[threadIdx.x];
  x[threadIdx.x] += 1.0f;
}
