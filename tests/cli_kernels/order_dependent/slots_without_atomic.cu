// Warps append to a list; two may take one slot.
// launch: --grid 1 --block 128 --arg y=i32[8]=zeros --arg count=i32[1]=zeros
__global__ void append(int* y, int* count) {
  if (threadIdx.x % 32 != 0) return;
  int slot = count[0];
  count[0] = slot + 1;
  y[slot] = 1 + threadIdx.x / 32;
}
