// Four floats at once from the second element on: 16-byte loads need addresses divisible by 16.
__global__ void copy(const float* x, float4* y) {
  y[threadIdx.x] = reinterpret_cast<const float4*>(x + 1)[threadIdx.x];
}
