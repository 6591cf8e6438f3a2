// A tiled product and a template, for the line table and shared memory.
#define TILE 8
__device__ __forceinline__ float product(float a, float b, float c) { return a * b + c; }

__device__ __forceinline__ float row_times_column(const float* row, const float* column) {
  float sum = 0;
  for (int k = 0; k < TILE; ++k) sum = product(row[k], column[k * TILE], sum);
  return sum;
}

__global__ void __launch_bounds__(64, 2) tiled(const float* a, const float* b, float* c, int n) {
  __shared__ float as[TILE][TILE], bs[TILE][TILE];
  const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0;
  for (int phase = 0; phase < n / TILE; ++phase) {
    as[threadIdx.y][threadIdx.x] = a[row * n + phase * TILE + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(phase * TILE + threadIdx.y) * n + column];
    __syncthreads();
    sum += row_times_column(as[threadIdx.y], &bs[0][threadIdx.x]);
    __syncthreads();
  }
  c[row * n + column] = sum;
}

template <typename T, int N>
__global__ void reverse(T* x) {
  extern __shared__ char memory[];
  T* shared = reinterpret_cast<T*>(memory);
  shared[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = shared[N - 1 - threadIdx.x];
}
template __global__ void reverse<float, 32>(float*);
template __global__ void reverse<double2, 64>(double2*);
