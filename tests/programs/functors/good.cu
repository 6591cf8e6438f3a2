// Kernels as templates: what they compute is a functor.
#include "device_array.hpp"

#include <algorithm>
#include <iostream>

template <typename T>
struct Polynomial {
  T a, b, c;
  __host__ __device__ T operator()(T x) const { return (a * x + b) * x + c; }
};

template <typename T>
struct Larger {
  static constexpr T neutral() { return T(-1000000); }
  __host__ __device__ T operator()(T x, T y) const { return x > y ? x : y; }
};

template <typename T>
struct Plus {
  static constexpr T neutral() { return T(0); }
  __host__ __device__ T operator()(T x, T y) const { return x + y; }
};

template <typename T, typename Function>
__global__ void transform_kernel(const T* in, T* out, std::size_t n, Function function) {
  const std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x;
  if (i < n) out[i] = function(in[i]);
}

template <unsigned Threads, typename T, typename Operation>
__global__ void fold_kernel(const T* in, T* out, std::size_t n, Operation operation, T neutral) {
  __shared__ T part[Threads];
  T mine = neutral;
  for (std::size_t i = threadIdx.x; i < n; i += Threads) mine = operation(mine, in[i]);
  part[threadIdx.x] = mine;
  __syncthreads();
#pragma unroll
  for (unsigned half = Threads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      part[threadIdx.x] = operation(part[threadIdx.x], part[threadIdx.x + half]);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = part[0];
}

template <typename T, typename Function>
DeviceArray<T> transform(const DeviceArray<T>& in, Function function) {
  DeviceArray<T> out(in.size());
  const unsigned threads = 192;
  const unsigned blocks = static_cast<unsigned>((in.size() + threads - 1) / threads);
  transform_kernel<<<blocks, threads>>>(in.data(), out.data(), in.size(), function);
  expect_success(cudaGetLastError(), "transform");
  return out;
}

template <typename T, typename Operation>
T fold(const DeviceArray<T>& in, Operation operation) {
  DeviceArray<T> out(1);
  fold_kernel<256><<<1, 256>>>(in.data(), out.data(), in.size(), operation, Operation::neutral());
  expect_success(cudaGetLastError(), "fold");
  return out.download().front();
}

template <typename T>
bool try_type(const char* name, std::size_t n) {
  std::vector<T> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = T(int(i % 50) - 20);
  const Polynomial<T> polynomial{T(2), T(-3), T(1)};

  DeviceArray<T> x(values);
  DeviceArray<T> y = transform(x, polynomial);
  const T sum = fold(y, Plus<T>{});
  const T top = fold(y, Larger<T>{});

  T expected_sum = 0, expected_top = Larger<T>::neutral();
  for (T value : values) {
    expected_sum += polynomial(value);
    expected_top = std::max(expected_top, polynomial(value));
  }
  const bool good = sum == expected_sum && top == expected_top;
  std::cout << name << ": sum " << sum << ", largest " << top << (good ? ": PASSED" : ": FAILED")
            << std::endl;
  return good;
}

int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::stoul(argv[1]) : 3000;
  try {
    bool good = try_type<int>("int", n);
    good = try_type<float>("float", n) && good;
    good = try_type<double>("double", n) && good;
    return good ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << std::endl;
    return 2;
  }
}
