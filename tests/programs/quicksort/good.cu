// Quicksort by kernels that launch kernels: each range is partitioned by a grid of its own, which
// launches the two halves into streams of their own. A tail launch counts what is out of order
// when all of them are done. nvcc needs -rdc=true for it.
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

constexpr int most_depth = 12;
constexpr int short_range = 24;

__device__ void selection_sort(int* data, int left, int right) {
  for (int i = left; i <= right; ++i) {
    int least = i;
    for (int j = i + 1; j <= right; ++j) {
      if (data[j] < data[least]) least = j;
    }
    const int value = data[i];
    data[i] = data[least];
    data[least] = value;
  }
}

__global__ void quicksort(int* data, int left, int right, int depth) {
  if (depth >= most_depth || right - left <= short_range) {
    selection_sort(data, left, right);
    return;
  }
  const int pivot = data[left];
  int low = left, high = right;
  while (low <= high) {
    while (data[low] < pivot) ++low;
    while (data[high] > pivot) --high;
    if (low <= high) {
      const int value = data[low];
      data[low++] = data[high];
      data[high--] = value;
    }
  }
  cudaStream_t stream;
  if (left < high) {
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    quicksort<<<1, 1, 0, stream>>>(data, left, high, depth + 1);
    cudaStreamDestroy(stream);
  }
  if (low < right) {
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    quicksort<<<1, 1, 0, stream>>>(data, low, right, depth + 1);
    cudaStreamDestroy(stream);
  }
}

__global__ void count_inversions(const int* data, int count, int* inversions) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 1 < count) atomicAdd(inversions, data[i] > data[i + 1]);
}

__global__ void sort_and_check(int* data, int count, int* inversions) {
  *inversions = 0;
  quicksort<<<1, 1>>>(data, 0, count - 1, 0);
  count_inversions<<<(count + 127) / 128, 128, 0, cudaStreamTailLaunch>>>(data, count, inversions);
}

int main() {
  const int count = 2500;
  std::vector<int> values(count);
  for (int i = 0; i < count; ++i) values[i] = (i * 7919 + 13) % 2503;
  int *data, *inversions;
  CHECK(cudaMalloc(&data, count * sizeof(int)));
  CHECK(cudaMalloc(&inversions, sizeof(int)));
  CHECK(cudaMemcpy(data, values.data(), count * sizeof(int), cudaMemcpyHostToDevice));
  sort_and_check<<<1, 1>>>(data, count, inversions);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(values.data(), data, count * sizeof(int), cudaMemcpyDeviceToHost));
  int wrong = 0;
  CHECK(cudaMemcpy(&wrong, inversions, sizeof(int), cudaMemcpyDeviceToHost));
  for (int i = 0; i + 1 < count; ++i) wrong += values[i] > values[i + 1];
  CHECK(cudaFree(data));
  CHECK(cudaFree(inversions));
  std::printf("%d values from %d to %d: %s\n", count, values.front(), values.back(),
              wrong == 0 ? "sorted" : "NOT sorted");
  return wrong != 0;
}
