// The second block looks at the flag of the first once.
// launch: --grid 2 --block 32 --arg y=i32[1]=zeros --arg flag=i32[1]=zeros
__global__ void pass(int* y, int* flag) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) atomicExch(flag, 1);
  if (blockIdx.x == 1) y[0] = atomicAdd(flag, 0) + 1;
}
