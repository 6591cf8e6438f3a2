// Histogram of bytes: one kernel counts in global memory, one in a private copy for each block.
#include <cstdio>
#include <cstdlib>
#include <cstring>

static const int kValues = 256;

static void stop_on_error(cudaError_t err, const char *what) {
  if (err == cudaSuccess) return;
  printf("%s failed: %s\n", what, cudaGetErrorString(err));
  exit(EXIT_FAILURE);
}
#define TRY(call) stop_on_error(call, #call)

__global__ void count_global(const unsigned char *text, long length, unsigned int *counts) {
  long stride = blockDim.x * gridDim.x;
  for (long i = threadIdx.x + blockIdx.x * blockDim.x; i < length; i += stride) {
    atomicAdd(&counts[text[i]], 1);  // FOUND
  }
}

__global__ void count_shared(const unsigned char *text, long length, unsigned int *counts) {
  __shared__ unsigned int mine[kValues];
  mine[threadIdx.x] = 0;
  __syncthreads();

  long stride = blockDim.x * gridDim.x;
  for (long i = threadIdx.x + blockIdx.x * blockDim.x; i < length; i += stride) {
    atomicAdd(&mine[text[i]], 1);
  }
  __syncthreads();
  atomicAdd(&counts[threadIdx.x], mine[threadIdx.x]);
}

// Pseudo random bytes with few small values.
static unsigned char *make_text(long length) {
  unsigned char *text = (unsigned char *)malloc(length);
  unsigned int state = 12345;
  for (long i = 0; i < length; i++) {
    state = state * 1664525u + 1013904223u;
    text[i] = (unsigned char)((state >> 24) | (state >> 16 & 31));
  }
  return text;
}

static bool same(const char *name, const unsigned int *counts, const unsigned char *text,
                 long length) {
  unsigned int expected[kValues];
  memset(expected, 0, sizeof expected);
  for (long i = 0; i < length; i++) expected[text[i]]++;
  bool good = memcmp(expected, counts, sizeof expected) == 0;
  printf("%s: value 255 occurs %u times: %s\n", name, counts[255], good ? "PASSED" : "FAILED");
  return good;
}

int main(int argc, char **argv) {
  long length = argc > 1 ? atol(argv[1]) : 30000;
  unsigned char *text = make_text(length);

  unsigned char *d_text;
  unsigned int *d_counts;
  TRY(cudaMalloc(&d_text, length));
  TRY(cudaMemcpy(d_text, text, length, cudaMemcpyHostToDevice));
  TRY(cudaMalloc(&d_counts, kValues * sizeof(unsigned int)));

  cudaDeviceProp prop;
  TRY(cudaGetDeviceProperties(&prop, 0));
  int blocks = prop.multiProcessorCount > 8 ? 8 : prop.multiProcessorCount;

  unsigned int counts[kValues];
  // MISTAKE: d_counts is not cleared
  count_global<<<blocks, kValues>>>(d_text, length, d_counts);
  TRY(cudaGetLastError());
  TRY(cudaMemcpy(counts, d_counts, sizeof counts, cudaMemcpyDeviceToHost));
  bool good = same("global", counts, text, length);

  TRY(cudaMemset(d_counts, 0, kValues * sizeof(unsigned int)));
  count_shared<<<blocks, kValues>>>(d_text, length, d_counts);
  TRY(cudaGetLastError());
  TRY(cudaMemcpy(counts, d_counts, sizeof counts, cudaMemcpyDeviceToHost));
  good = same("shared", counts, text, length) && good;

  cudaFree(d_counts);
  cudaFree(d_text);
  free(text);
  return good ? 0 : 1;
}
