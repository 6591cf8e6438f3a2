// One-dimensional filter; its coefficients lie in constant memory.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#define RADIUS 8
#define WIDTH (2 * RADIUS + 1)
#define BLOCK 128

__constant__ float coefficient[WIDTH];
__constant__ float gain;

__global__ void filter(const float *in, float *out, int n) {
  __shared__ float tile[BLOCK + RADIUS];  // MISTAKE: the halo has two sides
  int g = blockIdx.x * blockDim.x + threadIdx.x;
  int s = threadIdx.x + RADIUS;

  tile[s] = g < n ? in[g] : 0.0f;
  if (threadIdx.x < RADIUS) {
    int left = g - RADIUS;
    int right = g + BLOCK;
    tile[s - RADIUS] = left >= 0 && left < n ? in[left] : 0.0f;
    tile[s + BLOCK] = right < n ? in[right] : 0.0f;  // FOUND
  }
  __syncthreads();

  if (g < n) {
    float sum = 0.0f;
    for (int k = 0; k < WIDTH; k++) sum += coefficient[k] * tile[threadIdx.x + k];
    out[g] = gain * sum;
  }
}

static void set_filter(const float *values, float factor) {
  cudaMemcpyToSymbol(coefficient, values, WIDTH * sizeof(float));
  cudaMemcpyToSymbol(gain, &factor, sizeof(factor));
}

int main(int argc, char **argv) {
  int n = (argc > 1) ? atoi(argv[1]) : 10000;
  float *in = (float *)calloc(n, sizeof(float));
  float *out = (float *)calloc(n, sizeof(float));
  for (int i = 0; i < n; i++) in[i] = sinf(0.01f * i) + (i % 7 == 0 ? 0.5f : 0.0f);

  float weights[WIDTH];
  for (int k = 0; k < WIDTH; k++) weights[k] = expf(-0.1f * (k - RADIUS) * (k - RADIUS));
  set_filter(weights, 0.25f);

  float *d_in, *d_out;
  cudaMalloc(&d_in, n * sizeof(float));
  cudaMalloc(&d_out, n * sizeof(float));
  cudaMemcpy(d_in, in, n * sizeof(float), cudaMemcpyHostToDevice);
  filter<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(d_in, d_out, n);
  cudaError_t failure = cudaGetLastError();
  if (failure != cudaSuccess) {
    fprintf(stderr, "filter: %s\n", cudaGetErrorString(failure));
    return 1;
  }
  cudaMemcpy(out, d_out, n * sizeof(float), cudaMemcpyDeviceToHost);

  float back[WIDTH];
  cudaMemcpyFromSymbol(back, coefficient, sizeof(back));
  printf("coefficients: %.3f ... %.3f ... %.3f\n", back[0], back[RADIUS], back[WIDTH - 1]);

  double worst = 0.0;
  for (int i = 0; i < n; i++) {
    double sum = 0.0;
    for (int k = -RADIUS; k <= RADIUS; k++) {
      if (i + k >= 0 && i + k < n) sum += (double)weights[k + RADIUS] * in[i + k];
    }
    worst = std::max(worst, fabs(0.25 * sum - out[i]));
  }
  printf("filter of %d values: %s\n", n, worst < 1e-5 ? "PASSED" : "FAILED");

  cudaFree(d_in);
  cudaFree(d_out);
  free(in);
  free(out);
  return worst < 1e-5 ? 0 : 1;
}
