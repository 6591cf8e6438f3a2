// 48 threads: the second warp is half a warp, and its masks are full.
__global__ void k(const int* in, int* out) {
  int v = in[threadIdx.x];
  __shared__ int s[48];
  s[threadIdx.x] = v;
  __syncwarp();
  int lane = threadIdx.x & 31;
  int first = threadIdx.x - lane;
  unsigned vote = __ballot_sync(__activemask(), v > 3);
  out[threadIdx.x] = s[first] + __popc(vote);
}
