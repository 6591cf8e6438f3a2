// Heat conduction on a plate: Jacobi iterations on a pitched 2-D array.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CUDA_CALL(x)                                                                  \
  {                                                                                   \
    const cudaError_t a = (x);                                                        \
    if (a != cudaSuccess) {                                                           \
      printf("\nCUDA Error: %s (err_num=%d)\n", cudaGetErrorString(a), a);            \
      cudaDeviceReset();                                                              \
      exit(1);                                                                        \
    }                                                                                 \
  }

__device__ __host__ inline const float* row_of(const float* base, size_t pitch, int y) {
  return (const float*)((const char*)base + y * pitch);
}

__global__ void step(float* out, const float* in, size_t pitch, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;

  const float* middle = row_of(in, pitch, y);
  float value = middle[x];
  if (x > 0 && x < width - 1 && y > 0 && y < height - 1) {
    const float* above = row_of(in, pitch, y - 1);
    const float* below = row_of(in, pitch, y + 1);
    value += 0.2f * (middle[x - 1] + middle[x + 1] + above[x] + below[x] - 4.0f * value);
  }
  ((float*)((char*)out + y * pitch))[x] = value;
}

static void step_on_host(std::vector<float>& out, const std::vector<float>& in, int w, int h) {
  out = in;
  for (int y = 1; y < h - 1; y++) {
    for (int x = 1; x < w - 1; x++) {
      int i = y * w + x;
      out[i] = in[i] + 0.2f * (in[i - 1] + in[i + 1] + in[i - w] + in[i + w] - 4.0f * in[i]);
    }
  }
}

int main(int argc, char** argv) {
  int width = argc > 1 ? atoi(argv[1]) : 100;
  int height = argc > 2 ? atoi(argv[2]) : 60;
  int iterations = argc > 3 ? atoi(argv[3]) : 10;

  std::vector<float> plate(width * height, 20.0f);
  for (int x = 0; x < width; x++) plate[x] = 100.0f;
  for (int y = 0; y < height; y++) plate[y * width] = 50.0f;

  float *d_in, *d_out;
  size_t pitch;
  CUDA_CALL(cudaMallocPitch(&d_in, &pitch, width * sizeof(float), height));
  CUDA_CALL(cudaMallocPitch(&d_out, &pitch, width * sizeof(float), height));
  CUDA_CALL(cudaMemcpy2D(d_in, pitch, plate.data(), width * sizeof(float), width,  // FOUND
                         height, cudaMemcpyHostToDevice));                         // MISTAKE

  dim3 threads(32, 8);
  dim3 blocks((width + threads.x - 1) / threads.x, (height + threads.y - 1) / threads.y);
  for (int i = 0; i < iterations; i++) {
    step<<<blocks, threads>>>(d_out, d_in, pitch, width, height);
    CUDA_CALL(cudaGetLastError());
    std::swap(d_in, d_out);
  }

  std::vector<float> result(width * height);
  CUDA_CALL(cudaMemcpy2D(result.data(), width * sizeof(float), d_in, pitch, width * sizeof(float),
                         height, cudaMemcpyDeviceToHost));
  CUDA_CALL(cudaFree(d_in));
  CUDA_CALL(cudaFree(d_out));

  std::vector<float> next;
  for (int i = 0; i < iterations; i++) {
    step_on_host(next, plate, width, height);
    std::swap(plate, next);
  }
  float worst = 0.0f, total = 0.0f;
  for (size_t i = 0; i < plate.size(); i++) {
    worst = std::max(worst, std::fabs(plate[i] - result[i]));
    total += result[i];
  }
  printf("plate %d x %d after %d iterations: mean %.2f degrees\n", width, height, iterations,
         total / plate.size());
  printf("%s\n", worst < 1e-3f ? "PASSED" : "FAILED");
  return worst < 1e-3f ? 0 : 1;
}
