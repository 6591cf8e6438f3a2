// Four floats at once, the rest one by one.
__global__ void copy(const float* in, float* out, int n) {
  int idx = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = idx; i < n / 4; i += blockDim.x * gridDim.x) reinterpret_cast<float4*>(out)[i] = reinterpret_cast<const float4*>(in)[i];
  int remainder = n % 4;
  if (idx < remainder) out[n - 1 - idx] = in[n - 1 - idx];
}
