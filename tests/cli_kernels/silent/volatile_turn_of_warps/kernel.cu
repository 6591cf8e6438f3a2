// Warps write in order: each waits for its turn in a volatile variable and counts it up.
__global__ void k(const int* x, int* y) {
  __shared__ volatile int turn;
  __shared__ int at;
  if (threadIdx.x == 0) turn = at = 0;
  __syncthreads();
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  while (turn != warp) {}
  __threadfence_block();
  int begin = at;
  __syncwarp();
  y[begin + lane] = x[threadIdx.x];
  if (lane == 0) {
    at = begin + 32;
    __threadfence_block();
    turn = turn + 1;
  }
}
