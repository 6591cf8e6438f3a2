// Exclusive prefix sum of an array of any length: scan blocks, scan their sums, add.
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <vector>

const int kElements = 256;  // of one block, two for each thread

#define CHECK_CUDA(call)                                                                     \
  if (cudaError_t status = (call); status != cudaSuccess) {                                  \
    std::cerr << "CUDA error at line " << __LINE__ << ": " << cudaGetErrorString(status)     \
              << "\n";                                                                       \
    std::exit(1);                                                                            \
  }

// Work-efficient scan: up the tree, then down. blockSums may be null.
__global__ void scanBlocks(const int* in, int* out, int* blockSums, int n) {
  __shared__ int tree[kElements];
  int t = threadIdx.x;
  int base = blockIdx.x * kElements;
  tree[2 * t] = base + 2 * t < n ? in[base + 2 * t] : 0;
  tree[2 * t + 1] = base + 2 * t + 1 < n ? in[base + 2 * t + 1] : 0;

  int offset = 1;
  for (int d = kElements / 2; d > 0; d /= 2) {
    __syncthreads();
    if (t < d) {
      int left = offset * (2 * t + 1) - 1;
      int right = offset * (2 * t + 2) - 1;
      tree[right] += tree[left];
    }
    offset *= 2;
  }
  if (t == 0) {
    if (blockSums != nullptr) blockSums[blockIdx.x] = tree[kElements - 1];
    tree[kElements - 1] = 0;
  }
  for (int d = 1; d < kElements; d *= 2) {
    offset /= 2;
    __syncthreads();
    if (t < d) {
      int left = offset * (2 * t + 1) - 1;
      int right = offset * (2 * t + 2) - 1;
      int value = tree[left];
      tree[left] = tree[right];
      tree[right] += value;
    }
  }
  __syncthreads();
  if (base + 2 * t < n) out[base + 2 * t] = tree[2 * t];
  if (base + 2 * t + 1 < n) out[base + 2 * t + 1] = tree[2 * t + 1];
}

__global__ void addSums(int* out, const int* blockSums, int n) {
  int i = blockIdx.x * kElements + threadIdx.x;
  int sum = blockSums[blockIdx.x];
  for (; i < n && i < (blockIdx.x + 1) * kElements; i += blockDim.x) out[i] += sum;
}

void scan(const int* in, int* out, int n) {
  int blocks = (n + kElements - 1) / kElements;
  if (blocks == 1) {
    scanBlocks<<<1, kElements / 2>>>(in, out, nullptr, n);
    CHECK_CUDA(cudaGetLastError());
    return;
  }
  int *sums, *offsets;
  CHECK_CUDA(cudaMalloc(&sums, blocks * sizeof(int)));
  CHECK_CUDA(cudaMalloc(&offsets, blocks * sizeof(int)));
  scanBlocks<<<blocks, kElements / 2>>>(in, out, sums, n);
  CHECK_CUDA(cudaGetLastError());
  scan(sums, offsets, blocks);
  addSums<<<blocks, kElements / 2>>>(out, offsets, n);
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaFree(sums));
  CHECK_CUDA(cudaFree(offsets));
}

int main(int argc, char** argv) {
  int n = argc > 1 ? std::stoi(argv[1]) : 70001;
  std::vector<int> values(n), result(n), expected(n);
  for (int i = 0; i < n; i++) values[i] = i % 13;

  int *in, *out;
  CHECK_CUDA(cudaMalloc(&in, n * sizeof(int)));
  CHECK_CUDA(cudaMalloc(&out, n * sizeof(int)));
  CHECK_CUDA(cudaMemcpy(in, values.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  scan(in, out, n);
  CHECK_CUDA(cudaMemcpy(result.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost));
  CHECK_CUDA(cudaFree(in));
  CHECK_CUDA(cudaFree(out));

  std::exclusive_scan(values.begin(), values.end(), expected.begin(), 0);
  bool good = result == expected;
  std::cout << "last of " << n << ": " << result.back() << (good ? " PASSED" : " FAILED") << "\n";
  return good ? 0 : 1;
}
