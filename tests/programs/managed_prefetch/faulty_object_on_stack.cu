// Managed memory: the host and the GPU use the same pointers.
#include <cmath>
#include <iostream>
#include <new>
#include <stdexcept>
#include <string>

void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

// Objects of classes that derive from this one are visible to the GPU.
struct Managed {
  void* operator new(size_t bytes) {
    void* memory;
    check(cudaMallocManaged(&memory, bytes));
    return memory;
  }
  void operator delete(void* memory) { cudaFree(memory); }
};

struct Summary : Managed {
  int above = 0;
  int below = 0;
};

__global__ void saxpy(int n, float a, const float* x, float* y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    y[i] = a * x[i] + y[i];
  }
}

__global__ void summarise(int n, const float* y, float limit, Summary* summary) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(y[i] > limit ? &summary->above : &summary->below, 1);
}

int run(int n) {
  float *x, *y;
  check(cudaMallocManaged(&x, n * sizeof(float)));
  check(cudaMallocManaged(&y, n * sizeof(float)));
  for (int i = 0; i < n; i++) {
    x[i] = float(i % 100);
    y[i] = 1.0f;
  }
  Summary object;
  Summary* summary = &object;  // MISTAKE: the stack is no managed memory

  int device = 0, concurrent = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, device));
  if (concurrent) {
    cudaMemLocation gpu{cudaMemLocationTypeDevice, device};
    check(cudaMemPrefetchAsync(x, n * sizeof(float), gpu, 0));
    check(cudaMemPrefetchAsync(y, n * sizeof(float), gpu, 0));
  }

  saxpy<<<32, 128>>>(n, 2.0f, x, y);
  check(cudaGetLastError());
  summarise<<<(n + 127) / 128, 128>>>(n, y, 100.0f, summary);  // FOUND
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());

  float error = 0.0f;
  int above = 0;
  for (int i = 0; i < n; i++) {
    float expected = 2.0f * (i % 100) + 1.0f;
    error = std::fmax(error, std::fabs(y[i] - expected));
    above += expected > 100.0f;
  }
  std::cout << "above the limit: " << summary->above << ", below: " << summary->below << '\n';
  bool good = error == 0.0f && summary->above == above && summary->below == n - above;
  std::cout << "largest error " << error << (good ? ": PASSED" : ": FAILED") << std::endl;

  check(cudaFree(x));
  check(cudaFree(y));
  return good ? 0 : 1;
}

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? std::stoi(argv[1]) : 20000);
  } catch (const std::exception& problem) {
    std::cerr << problem.what() << '\n';
    return 2;
  }
}
