// Row sums of a matrix by grids that a grid launches: each block scales its rows, launches a grid
// that sums them, and prepares rows of another matrix meanwhile. What needs the sums waits in the
// tail stream. nvcc needs -rdc=true for it.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                         \
  do {                                                                      \
    const cudaError_t error = (call);                                       \
    if (error != cudaSuccess) {                                             \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));   \
      std::exit(1);                                                         \
    }                                                                       \
  } while (0)

constexpr int rows = 24, columns = 64, rows_of_block = 4;

__global__ void sum_rows(const int* matrix, int* sums, int first) {
  const int row = first + threadIdx.x;
  int sum = 0;
  for (int j = 0; j < columns; ++j) sum += matrix[row * columns + j];
  sums[row] = sum;
}

__global__ void greatest(const int* sums, int* result) {
  int found = sums[0];
  for (int i = 1; i < rows; ++i) found = max(found, sums[i]);
  *result = found;
}

__global__ void scale_and_sum(int* matrix, int* next, int* sums, int* result, int factor) {
  const int first = blockIdx.x * rows_of_block;
  for (int r = first; r < first + rows_of_block; ++r) {
    matrix[r * columns + threadIdx.x] *= factor;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    sum_rows<<<1, rows_of_block, 0, cudaStreamFireAndForget>>>(matrix, sums, first);
    if (blockIdx.x == 0) greatest<<<1, 1, 0, cudaStreamTailLaunch>>>(sums, result);
  }
  // MISTAKE: the sums of these rows may not have been taken
  for (int r = first; r < first + rows_of_block; ++r) {
    next[r * columns + threadIdx.x] = r;
    matrix[r * columns + threadIdx.x] = 0;  // FOUND
  }
}

int main() {
  std::vector<int> matrix(rows * columns), next(rows * columns);
  for (int i = 0; i < rows * columns; ++i) matrix[i] = i % 7;
  int *d_matrix, *d_next, *d_sums, *d_result;
  CHECK(cudaMalloc(&d_matrix, matrix.size() * sizeof(int)));
  CHECK(cudaMalloc(&d_next, next.size() * sizeof(int)));
  CHECK(cudaMalloc(&d_sums, rows * sizeof(int)));
  CHECK(cudaMalloc(&d_result, sizeof(int)));
  CHECK(cudaMemcpy(d_matrix, matrix.data(), matrix.size() * sizeof(int), cudaMemcpyHostToDevice));

  scale_and_sum<<<rows / rows_of_block, columns>>>(d_matrix, d_next, d_sums, d_result, 3);
  CHECK(cudaGetLastError());
  int result = 0;
  CHECK(cudaMemcpy(&result, d_result, sizeof(int), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(next.data(), d_next, next.size() * sizeof(int), cudaMemcpyDeviceToHost));

  int expected = 0, wrong = 0;
  for (int i = 0; i < rows; ++i) {
    int sum = 0;
    for (int j = 0; j < columns; ++j) sum += 3 * matrix[i * columns + j];
    expected = std::max(expected, sum);
    for (int j = 0; j < columns; ++j) wrong += next[i * columns + j] != i;
  }
  std::printf("greatest sum %d, expected %d, %d wrong\n", result, expected, wrong);
  CHECK(cudaFree(d_matrix));
  CHECK(cudaFree(d_next));
  CHECK(cudaFree(d_sums));
  CHECK(cudaFree(d_result));
  return result == expected && wrong == 0 ? 0 : 1;
}
