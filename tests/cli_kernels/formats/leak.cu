// Memory that is never freed.
__global__ void ones(float* x) {
  x[threadIdx.x] = 1.0f;
}

int main() {
  float* x;
  cudaMalloc(&x, 64 * sizeof(float));
  ones<<<1, 64>>>(x);
  return cudaDeviceSynchronize();
}
