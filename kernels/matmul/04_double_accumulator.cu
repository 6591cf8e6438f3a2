// The register that sums is a double: the product is exact to the last bit of a float.
//
// Idea:    float inputs multiply exactly in double (24 + 24 bits fit in 53), so only the final
//          rounding to float remains.
// Changes: the error falls from about sqrt(k) units in the last place to half a unit; each step
//          costs two conversions and a DFMA, which have half or fewer of the FP32 units.
// Counter: smsp__sass_thread_inst_executed_op_dfma replaces ffma.
//
// A is m x k, B is k x n, C is m x n, all row-major. Launch: block (WIDTH, WIDTH), grid covers C.
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int m, int n, int k) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || column >= n) return;

  double sum = 0.0;
  for (int i = 0; i < k; ++i) {
    sum += double(A[row * k + i]) * double(B[i * n + column]);
  }
  C[row * n + column] = float(sum);
}
