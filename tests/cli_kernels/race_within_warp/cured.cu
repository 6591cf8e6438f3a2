// Each thread takes its right neighbour's value: lanes of a warp may run apart.
__global__ void rotate(float* x) {
  __shared__ float tile[32];
  int t = threadIdx.x;
  tile[t] = x[t];
  __syncwarp();
  x[t] = tile[(t + 1) % 32];
}
