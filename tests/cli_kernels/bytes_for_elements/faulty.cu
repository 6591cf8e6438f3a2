// Two tiles in dynamic shared memory: the second begins width * width elements after the first.
__global__ void sum_tiles(const float* a, const float* b, float* c, int width) {
  extern __shared__ float tiles[];
  float* a_tile = tiles;
  float* b_tile = tiles + width * width * sizeof(float);
  int t = threadIdx.y * width + threadIdx.x;
  a_tile[t] = a[t];
  b_tile[t] = b[t];
  __syncthreads();
  int turned = threadIdx.x * width + threadIdx.y;
  c[t] = a_tile[turned] + b_tile[turned];
}
