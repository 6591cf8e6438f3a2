// Every block adds its part to one sum, and no other block comes between its read and its write.
__global__ void total(const float* x, float* sum) {
  if (threadIdx.x == 0) {
    float part = 0.0f;
    for (int i = 0; i < 32; ++i) part += x[blockIdx.x * 32 + i];
    atomicAdd(sum, part);
  }
}
