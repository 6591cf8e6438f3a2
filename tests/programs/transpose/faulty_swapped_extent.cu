/* Matrix transpose in three steps: naive, with a tile, with a padded tile. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TILE_DIM 32
#define BLOCK_ROWS 8

#define checkCuda(call)                                                        \
  do {                                                                         \
    cudaError_t err = call;                                                    \
    if (err != cudaSuccess) {                                                  \
      printf("CUDA failure %s in %s:%d\n", cudaGetErrorString(err), __FILE__,  \
             __LINE__);                                                        \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

__global__ void naive(float *out, const float *in, int rows, int cols) {
  int x = blockIdx.x * TILE_DIM + threadIdx.x;
  int y = blockIdx.y * TILE_DIM + threadIdx.y;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) {
    if (x < cols && y + j < rows) {
      out[x * cols + y + j] = in[(y + j) * cols + x];  // MISTAKE: cols for rows
    }
  }
}

__global__ void tiled(float *out, const float *in, int rows, int cols) {
  __shared__ float tile[TILE_DIM][TILE_DIM];
  int x = blockIdx.x * TILE_DIM + threadIdx.x;
  int y = blockIdx.y * TILE_DIM + threadIdx.y;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) {
    if (x < cols && y + j < rows) {
      tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * cols + x];
    }
  }
  __syncthreads();
  x = blockIdx.y * TILE_DIM + threadIdx.x;
  y = blockIdx.x * TILE_DIM + threadIdx.y;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) {
    if (x < rows && y + j < cols) {
      out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
    }
  }
}

__global__ void padded(float *out, const float *in, int rows, int cols) {
  __shared__ float tile[TILE_DIM * (TILE_DIM + 1)];
  int x = blockIdx.x * TILE_DIM + threadIdx.x;
  int y = blockIdx.y * TILE_DIM + threadIdx.y;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) {
    if (x < cols && y + j < rows) {
      tile[(threadIdx.y + j) * (TILE_DIM + 1) + threadIdx.x] = in[(y + j) * cols + x];
    }
  }
  __syncthreads();
  x = blockIdx.y * TILE_DIM + threadIdx.x;
  y = blockIdx.x * TILE_DIM + threadIdx.y;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) {
    if (x < rows && y + j < cols) {
      out[(y + j) * rows + x] = tile[threadIdx.x * (TILE_DIM + 1) + threadIdx.y + j];
    }
  }
}

int main(int argc, char **argv) {
  const int rows = argc > 1 ? atoi(argv[1]) : 100;
  const int cols = argc > 2 ? atoi(argv[2]) : 150;
  const size_t bytes = (size_t)rows * cols * sizeof(float);

  float *h_in = (float *)malloc(bytes);
  float *h_out = (float *)malloc(bytes);
  for (int i = 0; i < rows * cols; i++) h_in[i] = (float)i;

  float *d_in, *d_out;
  checkCuda(cudaMalloc((void **)&d_in, bytes));
  checkCuda(cudaMalloc((void **)&d_out, bytes));
  checkCuda(cudaMemcpy(d_in, h_in, bytes, cudaMemcpyHostToDevice));

  dim3 grid((cols + TILE_DIM - 1) / TILE_DIM, (rows + TILE_DIM - 1) / TILE_DIM);
  dim3 block(TILE_DIM, BLOCK_ROWS);
  cudaEvent_t before, after;
  checkCuda(cudaEventCreate(&before));
  checkCuda(cudaEventCreate(&after));

  int failures = 0;
  for (int step = 0; step < 3; step++) {
    const char *name = step == 0 ? "naive" : step == 1 ? "tiled" : "padded";
    checkCuda(cudaMemset(d_out, 0, bytes));
    checkCuda(cudaEventRecord(before, 0));
    switch (step) {
      case 0: naive<<<grid, block>>>(d_out, d_in, rows, cols); break;
      case 1: tiled<<<grid, block>>>(d_out, d_in, rows, cols); break;
      case 2: padded<<<grid, block>>>(d_out, d_in, rows, cols); break;
    }
    checkCuda(cudaGetLastError());
    checkCuda(cudaEventRecord(after, 0));
    checkCuda(cudaEventSynchronize(after));
    float ms;
    checkCuda(cudaEventElapsedTime(&ms, before, after));
    memset(h_out, 0xff, bytes);
    checkCuda(cudaMemcpy(h_out, d_out, bytes, cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int r = 0; r < rows; r++) {
      for (int c = 0; c < cols; c++) wrong += h_out[c * rows + r] != h_in[r * cols + c];
    }
    printf("%-7s %d x %d: %s\n", name, rows, cols, wrong ? "FAILED" : "PASSED");
    printf("        %.4f ms\n", ms);
    failures += wrong != 0;
  }

  checkCuda(cudaEventDestroy(before));
  checkCuda(cudaEventDestroy(after));
  checkCuda(cudaFree(d_in));
  checkCuda(cudaFree(d_out));
  free(h_in);
  free(h_out);
  return failures;
}
