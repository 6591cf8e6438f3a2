// A launch that fails, and nobody asks.
__global__ void ones(float* x) {
  x[threadIdx.x] = 1.0f;
}

int main() {
  float* x;
  cudaMalloc(&x, 4096 * sizeof(float));
  ones<<<1, 4096>>>(x);
  ones<<<1, 64>>>(x);
  cudaFree(x);
}
