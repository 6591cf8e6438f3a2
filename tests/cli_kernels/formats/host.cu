// Mistakes of host code, each once.
#include <cstdlib>

__global__ void twice(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2.0f;
}

__global__ void ones(float* x) {
  x[threadIdx.x] = 1.0f;
}

int main() {
  const int n = 64;
  float* host = static_cast<float*>(calloc(n, sizeof(float)));
  float *x, *y, *part;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&y, n * sizeof(float));
  cudaMalloc(&part, n * sizeof(float));

  cudaMemcpy(x, host, (n + 1) * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(x, host, n * sizeof(float), cudaMemcpyDeviceToHost);
  cudaMemcpy(x, host, n, cudaMemcpyHostToDevice);
  twice<<<1, n>>>(host, n);
  cudaMemcpy(x, host, n * sizeof(float), cudaMemcpyHostToDevice);
  ones<<<1, n / 2>>>(part);
  cudaMemcpy(host, part, n * sizeof(float), cudaMemcpyDeviceToHost);

  float* managed;
  cudaMallocManaged(&managed, n * sizeof(float));
  cudaMemset(managed, 0, n * sizeof(float));
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  twice<<<1, n, 0, stream>>>(managed, n);
  host[0] = managed[0];
  cudaDeviceSynchronize();
  cudaFree(managed);

  cudaFree(y);
  cudaMemset(y, 0, n * sizeof(float));
  cudaFree(y);
  cudaFree(x + 1);
  cudaFree(x);
  cudaFree(part);
  cudaStreamDestroy(stream);
  free(host);
}
