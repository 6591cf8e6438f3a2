// Several host threads, each with a stream and memory of its own, share one GPU.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

__global__ void collatz(const int* start, int* steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  long long value = start[i];
  int count = 0;
  while (value != 1) {
    value = value % 2 == 0 ? value / 2 : 3 * value + 1;
    ++count;
  }
  steps[i] = count;
}

class Worker {
 public:
  Worker(int number, int n) : number_(number), n_(n) {}

  void operator()() {
    good = cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) == cudaSuccess &&
           cudaMallocHost(&start_, n_ * sizeof(int)) == cudaSuccess &&
           cudaMallocHost(&steps_, n_ * sizeof(int)) == cudaSuccess &&
           cudaMalloc(&d_start_, n_ * sizeof(int)) == cudaSuccess &&
           cudaMalloc(&d_steps_, n_ * sizeof(int)) == cudaSuccess && work();
    cudaFree(d_start_);
    cudaFree(d_steps_);
    cudaFreeHost(start_);
    cudaFreeHost(steps_);
    cudaStreamDestroy(stream_);
  }

  bool good = false;
  long long total = 0;

 private:
  bool work() {
    std::iota(start_, start_ + n_, 1 + number_ * n_);
    cudaMemcpyAsync(d_start_, start_, n_ * sizeof(int), cudaMemcpyHostToDevice, stream_);
    start_[0] = 1;  // MISTAKE: the copy may not have begun
    collatz<<<(n_ + 63) / 64, 64, 0, stream_>>>(d_start_, d_steps_, n_);
    if (cudaGetLastError() != cudaSuccess) return false;
    cudaMemcpyAsync(steps_, d_steps_, n_ * sizeof(int), cudaMemcpyDeviceToHost, stream_);
    if (cudaStreamSynchronize(stream_) != cudaSuccess) return false;
    for (int i = 0; i < n_; ++i) {
      long long value = 1 + number_ * n_ + i;
      int count = 0;
      for (; value != 1; ++count) value = value % 2 == 0 ? value / 2 : 3 * value + 1;
      if (count != steps_[i]) return false;
      total += count;
    }
    return true;
  }

  int number_, n_;
  cudaStream_t stream_ = nullptr;
  int *start_ = nullptr, *steps_ = nullptr, *d_start_ = nullptr, *d_steps_ = nullptr;
};

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 4;
  const int n = argc > 2 ? std::atoi(argv[2]) : 500;

  std::vector<Worker> workers;
  for (int t = 0; t < threads; ++t) workers.emplace_back(t, n);
  std::vector<std::thread> running;
  for (Worker& worker : workers) running.emplace_back(std::ref(worker));
  for (std::thread& thread : running) thread.join();

  bool good = true;
  for (int t = 0; t < threads; ++t) {
    std::printf("thread %d: %lld steps\n", t, workers[t].total);
    good = good && workers[t].good;
  }
  std::puts(good ? "PASSED" : "FAILED");
  return good ? 0 : 1;
}
