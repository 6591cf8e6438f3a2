// Prefix sums in one pass: blocks publish value and state in one 64-bit word.
__global__ void lookback(const int* in, int* out, volatile unsigned long long* status, int* ticket) {
  __shared__ int bid, prefix; __shared__ int s[64];
  if (threadIdx.x == 0) bid = atomicAdd(ticket, 1);
  __syncthreads();
  int b = bid, t = threadIdx.x;
  s[t] = in[b * 64 + t];
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) { int v = t >= d ? s[t - d] : 0; __syncthreads(); s[t] += v; __syncthreads(); }
  if (t == 0) {
    int total = s[63];
    status[b] = (1ull << 32) | (unsigned)total;
    int p = 0;
    for (int i = b - 1; i >= 0; --i) {
      unsigned long long w; do { w = status[i]; } while ((w >> 32) == 0);
      p += (int)w;
      if ((w >> 32) == 2) break;
    }
    status[b] = (2ull << 32) | (unsigned)(p + total);
    prefix = p;
  }
  __syncthreads();
  out[b * 64 + t] = s[t] + prefix;
}
