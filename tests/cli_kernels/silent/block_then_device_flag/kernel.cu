// News go from warp to warp with block scope, and from block to block with the device's.
__device__ int flag, value;
__global__ void k(int* y) {
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    value = 1;
    __threadfence_block();
    atomicExch(&flag, 1);
  } else if (blockIdx.x == 0 && threadIdx.x == 32) {
    while (atomicAdd(&flag, 0) != 1) {}
    __threadfence();
    value += 2;
    __threadfence();
    atomicExch(&flag, 2);
  } else if (blockIdx.x == 1 && threadIdx.x == 0) {
    while (atomicAdd(&flag, 0) != 2) {}
    __threadfence();
    *y = value;
  }
}
