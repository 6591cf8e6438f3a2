// A stream's work captured as a graph, and launched several times.
#include <cstdio>
#include <cstdlib>

#define cudaCheck(call) checked((call), #call, __LINE__)
static inline void checked(cudaError_t error, const char *text, int line) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "line %d: %s: %s\n", line, text, cudaGetErrorString(error));
  exit(1);
}

__global__ void axpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}

__global__ void scale(int n, float a, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] *= a;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 5000;
  const int launches = argc > 2 ? atoi(argv[2]) : 4;
  const int block = 256, grid = (n + block - 1) / block;

  float *x, *y;  // pinned
  cudaCheck(cudaMallocHost(&x, n * sizeof(float)));
  cudaCheck(cudaMallocHost(&y, n * sizeof(float)));
  for (int i = 0; i < n; i++) {
    x[i] = i % 10;
    y[i] = 1;
  }
  float *d_x, *d_y;
  cudaCheck(cudaMalloc(&d_x, n * sizeof(float)));
  cudaCheck(cudaMalloc(&d_y, n * sizeof(float)));

  cudaStream_t stream;
  cudaCheck(cudaStreamCreate(&stream));
  cudaCheck(cudaMemcpyAsync(d_y, y, n * sizeof(float), cudaMemcpyHostToDevice, stream));

  cudaGraph_t graph;
  cudaCheck(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  cudaCheck(cudaMemcpyAsync(d_x, x, n * sizeof(float), cudaMemcpyHostToDevice, stream));
  for (int i = 0; i < 3; i++) axpy<<<grid, block, 0, stream>>>(n, 2.0f, d_x, d_y);
  scale<<<grid, block, 0, stream>>>(n, 0.5f, d_y);
  cudaCheck(cudaMemcpyAsync(y, d_y, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
  cudaCheck(cudaStreamEndCapture(stream, &graph));

  size_t nodes = 0;
  cudaCheck(cudaGraphGetNodes(graph, nullptr, &nodes));
  printf("graph of %zu nodes\n", nodes);

  cudaGraphExec_t executable;
  cudaCheck(cudaGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < launches; i++) cudaCheck(cudaGraphLaunch(executable, stream));
  cudaCheck(cudaStreamSynchronize(stream));

  bool good = nodes == 6;
  for (int i = 0; i < n; i++) {
    float expected = 1;
    for (int k = 0; k < launches; k++) expected = (expected + 6.0f * x[i]) * 0.5f;
    if (y[i] != expected) good = false;
  }
  printf("y[9] = %.4f\n%s\n", y[9], good ? "PASSED" : "FAILED");

  cudaCheck(cudaGraphExecDestroy(executable));
  cudaCheck(cudaGraphDestroy(graph));
  cudaCheck(cudaStreamDestroy(stream));
  cudaCheck(cudaFree(d_x));
  cudaCheck(cudaFree(d_y));
  cudaCheck(cudaFreeHost(x));
  cudaCheck(cudaFreeHost(y));
  return good ? 0 : 1;
}
