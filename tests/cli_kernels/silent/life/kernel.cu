// A tile of bytes with its halo, wrapped round at the edges.
__global__ void life(const unsigned char* in, unsigned char* out, int w, int h) {
  __shared__ unsigned char s[10][34];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  for (int dy = threadIdx.y; dy < 10; dy += 8) for (int dx = threadIdx.x; dx < 34; dx += 32) {
    int gx = (blockIdx.x * 32 + dx - 1 + w) % w, gy = (blockIdx.y * 8 + dy - 1 + h) % h;
    s[dy][dx] = in[gy * w + gx];
  }
  __syncthreads();
  int c = 0;
  for (int dy = 0; dy < 3; ++dy) for (int dx = 0; dx < 3; ++dx) c += s[threadIdx.y + dy][threadIdx.x + dx];
  if (x < w && y < h) out[y * w + x] = c == 3;
}
