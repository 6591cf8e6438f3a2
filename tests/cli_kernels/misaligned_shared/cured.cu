// Rows of 5 floats: the second row begins at byte 20, which is no multiple of 8.
__global__ void rows(const float* x, float2* y) {
  __shared__ float tile[16][6];
  for (int i = 0; i < 4; ++i) tile[threadIdx.x][i] = x[4 * threadIdx.x + i];
  __syncwarp();
  y[threadIdx.x] = *reinterpret_cast<float2*>(&tile[threadIdx.x][0]);
}
