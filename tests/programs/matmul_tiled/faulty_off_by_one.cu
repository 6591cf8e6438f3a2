// C = A * B, with tiles in shared memory. Any shape.
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <random>
#include <vector>

constexpr int TILE = 16;

inline void require(cudaError_t code, const char* file, int line) {
  if (code != cudaSuccess) {
    std::cerr << file << "(" << line << "): " << cudaGetErrorName(code) << std::endl;
    std::exit(3);
  }
}
#define GPU(call) require((call), __FILE__, __LINE__)

__global__ void matmul_naive(const float* A, const float* B, float* C, int M, int N, int K) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || col >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  C[row * N + col] = sum;
}

__global__ void matmul_tiled(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float As[TILE][TILE];
  __shared__ float Bs[TILE][TILE];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * TILE + ty;
  const int col = blockIdx.x * TILE + tx;
  float sum = 0.0f;
  for (int t = 0; t < (K + TILE - 1) / TILE; ++t) {
    const int a_col = t * TILE + tx;
    const int b_row = t * TILE + ty;
    As[ty][tx] = (row < M && a_col <= K) ? A[row * K + a_col] : 0.0f;  // MISTAKE: <=
    Bs[ty][tx] = (b_row < K && col < N) ? B[b_row * N + col] : 0.0f;
    __syncthreads();
    for (int k = 0; k < TILE; ++k) {
      sum += As[ty][k] * Bs[k][tx];
    }
    __syncthreads();
  }
  if (row < M && col < N) {
    C[row * N + col] = sum;
  }
}

double largest_difference(const std::vector<float>& x, const std::vector<float>& y) {
  double worst = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    worst = std::max(worst, std::abs(double(x[i]) - double(y[i])));
  }
  return worst;
}

int main(int argc, char* argv[]) {
  const int M = argc > 1 ? std::atoi(argv[1]) : 100;
  const int N = argc > 2 ? std::atoi(argv[2]) : 90;
  const int K = argc > 3 ? std::atoi(argv[3]) : 70;
  std::cout << "C(" << M << "x" << N << ") = A(" << M << "x" << K << ") * B(" << K << "x" << N
            << ")\n";

  std::vector<float> A(M * K), B(K * N), C(M * N), reference(M * N);
  std::mt19937 generator(2024);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  for (float& a : A) a = uniform(generator);
  for (float& b : B) b = uniform(generator);

  float *dA, *dB, *dC;
  GPU(cudaMalloc(&dA, A.size() * sizeof(float)));
  GPU(cudaMalloc(&dB, B.size() * sizeof(float)));
  GPU(cudaMalloc(&dC, C.size() * sizeof(float)));
  GPU(cudaMemcpy(dA, A.data(), A.size() * sizeof(float), cudaMemcpyHostToDevice));
  GPU(cudaMemcpy(dB, B.data(), B.size() * sizeof(float), cudaMemcpyHostToDevice));

  dim3 block(TILE, TILE);
  dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);

  matmul_naive<<<grid, block>>>(dA, dB, dC, M, N, K);
  GPU(cudaPeekAtLastError());
  GPU(cudaDeviceSynchronize());
  GPU(cudaMemcpy(reference.data(), dC, C.size() * sizeof(float), cudaMemcpyDeviceToHost));

  GPU(cudaMemset(dC, 0, C.size() * sizeof(float)));
  matmul_tiled<<<grid, block>>>(dA, dB, dC, M, N, K);
  GPU(cudaPeekAtLastError());
  GPU(cudaDeviceSynchronize());
  GPU(cudaMemcpy(C.data(), dC, C.size() * sizeof(float), cudaMemcpyDeviceToHost));

  std::vector<float> cpu(M * N, 0.0f);
  for (int i = 0; i < M; ++i)
    for (int k = 0; k < K; ++k)
      for (int j = 0; j < N; ++j) cpu[i * N + j] += A[i * K + k] * B[k * N + j];

  const bool naive_ok = largest_difference(cpu, reference) < 1e-4;
  const bool tiled_ok = largest_difference(cpu, C) < 1e-4;
  std::cout << "naive: " << (naive_ok ? "PASSED" : "FAILED") << '\n';
  std::cout << "tiled: " << (tiled_ok ? "PASSED" : "FAILED") << '\n';

  GPU(cudaFree(dA));
  GPU(cudaFree(dB));
  GPU(cudaFree(dC));
  return naive_ok && tiled_ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
