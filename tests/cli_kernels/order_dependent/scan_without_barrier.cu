// A scan in place, whose reads and writes overlap.
// launch: --grid 1 --block 128 --arg x=i32[128]=ones
__global__ void scan(int* x) {
  for (int step = 1; step < 128; step *= 2) {
    int left = threadIdx.x >= step ? x[threadIdx.x - step] : 0;
    x[threadIdx.x] += left;
    __syncthreads();
  }
}
