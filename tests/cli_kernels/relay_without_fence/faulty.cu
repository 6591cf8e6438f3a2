// Three blocks in a row: the one in the middle must fence before it passes the news on.
__global__ void relay(int* value, int* flag, int* y) {
  if (blockIdx.x == 0) {
    *value = 42;
    __threadfence();
    atomicExch(&flag[0], 1);
  } else if (blockIdx.x == 1) {
    while (atomicAdd(&flag[0], 0) == 0) {}
    atomicExch(&flag[1], 1);
  } else {
    while (atomicAdd(&flag[1], 0) == 0) {}
    __threadfence();
    *y = *value;
  }
}
