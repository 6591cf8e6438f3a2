// Blocks take jobs from a queue; the job number is shared between two barriers.
__device__ int next;
__global__ void work(int* out, int n) {
  __shared__ int job;
  while (true) {
    __syncthreads();
    if (threadIdx.x == 0) job = atomicAdd(&next, 1);
    __syncthreads();
    if (job >= n) break;
    out[job * blockDim.x + threadIdx.x] = job;
  }
}
