// Dynamic shared memory: 80 KiB in one block, which a kernel gets only if it asks for it.
#include <cstdio>
#include <cstdlib>
#include <vector>

extern __shared__ double table[];

// Each block keeps a table of `entries` doubles and answers look-ups from it.
__global__ void look_up(const double *source, int entries, const int *queries, double *answers,
                        int count) {
  for (int i = threadIdx.x; i < entries; i += blockDim.x) table[i] = source[i];
  __syncthreads();
  for (int q = blockIdx.x * blockDim.x + threadIdx.x; q < count; q += gridDim.x * blockDim.x) {
    answers[q] = table[queries[q] % entries];
  }
}

// Two arrays of different types share the dynamic memory.
__global__ void two_arrays(const float *in, float *out, int *order, int n) {
  extern __shared__ char raw[];
  float *values = (float *)raw;
  int *indices = (int *)(raw + n * sizeof(float));
  int t = threadIdx.x;
  values[t] = in[t];
  indices[t] = n - 1 - t;
  __syncthreads();
  out[t] = values[indices[t]];
  order[t] = indices[n - 1 - t];
}

static void check(cudaError_t error, int line) {
  if (error != cudaSuccess) {
    fprintf(stderr, "line %d: %s: %s\n", line, cudaGetErrorName(error), cudaGetErrorString(error));
    exit(1);
  }
}
#define CHECK(x) check(x, __LINE__)

int main(int argc, char **argv) {
  int entries = argc > 1 ? atoi(argv[1]) : 10240;
  int count = 2000;
  size_t shared = entries * sizeof(double);

  int limit = 0;
  CHECK(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  if (shared > (size_t)limit) {
    printf("the table needs %zu bytes of shared memory, a block has %d\n", shared, limit);
    return 0;
  }

  std::vector<double> source(entries), answers(count);
  std::vector<int> queries(count);
  for (int i = 0; i < entries; i++) source[i] = 0.5 * i;
  for (int q = 0; q < count; q++) queries[q] = q * 7877;

  double *d_source, *d_answers;
  int *d_queries;
  CHECK(cudaMalloc(&d_source, entries * sizeof(double)));
  CHECK(cudaMalloc(&d_answers, count * sizeof(double)));
  CHECK(cudaMalloc(&d_queries, count * sizeof(int)));
  CHECK(cudaMemcpy(d_source, source.data(), entries * sizeof(double), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_queries, queries.data(), count * sizeof(int), cudaMemcpyHostToDevice));

  CHECK(cudaFuncSetAttribute(look_up, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, look_up));
  look_up<<<2, 256, shared>>>(d_source, entries, d_queries, d_answers, count);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(answers.data(), d_answers, count * sizeof(double), cudaMemcpyDeviceToHost));
  bool good = attributes.maxDynamicSharedSizeBytes >= (int)shared;
  for (int q = 0; q < count; q++) good = good && answers[q] == source[queries[q] % entries];
  printf("look-ups in %zu bytes: %s\n", shared, good ? "PASSED" : "FAILED");

  const int n = 128;
  float in[n], out[n], *d_in, *d_out;
  int order[n], *d_order;
  for (int i = 0; i < n; i++) in[i] = i * 1.5f;
  CHECK(cudaMalloc(&d_in, sizeof(in)));
  CHECK(cudaMalloc(&d_out, sizeof(out)));
  CHECK(cudaMalloc(&d_order, sizeof(order)));
  CHECK(cudaMemcpy(d_in, in, sizeof(in), cudaMemcpyHostToDevice));
  two_arrays<<<1, n, n * sizeof(float) + n * sizeof(int)>>>(d_in, d_out, d_order, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(out, d_out, sizeof(out), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(order, d_order, sizeof(order), cudaMemcpyDeviceToHost));
  bool reversed = true;
  for (int i = 0; i < n; i++) reversed = reversed && out[i] == in[n - 1 - i] && order[i] == i;
  printf("two arrays: %s\n", reversed ? "PASSED" : "FAILED");

  for (void *memory : {(void *)d_source, (void *)d_answers, (void *)d_queries, (void *)d_in,
                       (void *)d_out, (void *)d_order}) {
    CHECK(cudaFree(memory));
  }
  return good && reversed ? 0 : 1;
}
