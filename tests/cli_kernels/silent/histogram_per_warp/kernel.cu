// A histogram for each warp in shared memory; the block adds them up.
__global__ void histogram(const unsigned char* x, unsigned* bins, int n) {
  __shared__ unsigned own[4][256];
  const int warp = threadIdx.x / 32;
  for (int i = threadIdx.x; i < 4 * 256; i += blockDim.x) own[i / 256][i % 256] = 0;
  __syncthreads();
  const unsigned* words = reinterpret_cast<const unsigned*>(x);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
    const unsigned four = words[i];
    for (int byte = 0; byte < 4; ++byte) atomicAdd(&own[warp][four >> (8 * byte) & 255], 1u);
  }
  __syncthreads();
  for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) {
    unsigned count = 0;
    for (int w = 0; w < 4; ++w) count += own[w][bin];
    if (count != 0) atomicAdd(&bins[bin], count);
  }
}
