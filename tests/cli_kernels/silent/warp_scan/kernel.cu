// Prefix sums by shuffles in warps, then over the sums of the warps.
__global__ void k(const int* in, int* out, int n) {
  __shared__ int warp_sums[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, w = threadIdx.x >> 5;
  int v = i < n ? in[i] : 0;
  for (int d = 1; d < 32; d <<= 1) { int o = __shfl_up_sync(0xffffffff, v, d); if (lane >= d) v += o; }
  if (lane == 31) warp_sums[w] = v;
  __syncthreads();
  if (w == 0) {
    int s = lane < blockDim.x / 32 ? warp_sums[lane] : 0;
    for (int d = 1; d < 32; d <<= 1) { int o = __shfl_up_sync(0xffffffff, s, d); if (lane >= d) s += o; }
    warp_sums[lane] = s;
  }
  __syncthreads();
  if (w > 0) v += warp_sums[w - 1];
  if (i < n) out[i] = v;
}
