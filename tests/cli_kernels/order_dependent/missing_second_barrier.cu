// A tile is filled again while others still read it.
// launch: --grid 1 --block 64 --arg y=i32[64]=zeros
__global__ void phases(int* y) {
  __shared__ int s[64];
  int sum = 0;
  for (int phase = 0; phase < 3; phase++) {
    s[threadIdx.x] = phase * 100 + threadIdx.x;
    __syncthreads();
    sum += s[(threadIdx.x + 32) % 64];
  }
  y[threadIdx.x] = sum;
}
