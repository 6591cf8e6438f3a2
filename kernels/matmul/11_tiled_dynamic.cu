// 10_tiled_checked with the tile width chosen at run time from the device's properties.
//
// Idea:    shared memory of a size given at the launch holds both tiles one after the other. The
//          second starts width * width ELEMENTS after the first: an offset in bytes added to a
//          float pointer would point four times too far.
// Changes: one compiled kernel serves every device; the inner loop's length is no longer known to
//          the compiler, so it cannot be unrolled as far.
// Counter: instructions per FFMA rise against 10.
//
// A is m x k, B is k x n, C is m x n, all row-major.
// Launch: block (width, width), grid covers C, 2 * width * width * sizeof(float) dynamic bytes.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k) {
  extern __shared__ float tiles[];
  const int width = blockDim.x;
  float* a_tile = tiles;
  float* b_tile = tiles + width * width;

  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const int column = blockIdx.x * width + tx;
  const int row = blockIdx.y * width + ty;

  float sum = 0.0f;
  for (int start = 0; start < k; start += width) {
    const int a_column = start + tx;
    const int b_row = start + ty;
    a_tile[ty * width + tx] = row < m && a_column < k ? A[row * k + a_column] : 0.0f;
    b_tile[ty * width + tx] = b_row < k && column < n ? B[b_row * n + column] : 0.0f;
    __syncthreads();

    for (int i = 0; i < width; ++i) {
      sum += a_tile[ty * width + i] * b_tile[i * width + tx];
    }
    __syncthreads();
  }
  if (row < m && column < n) C[row * n + column] = sum;
}
