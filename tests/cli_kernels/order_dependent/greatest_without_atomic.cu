// The greatest number, by a test and a write.
// launch: --grid 1 --block 256 --arg best=i32[1]=zeros
__global__ void greatest(int* best) {
  int value = (threadIdx.x / 32 * 5 + 3) % 8 + 1;
  if (threadIdx.x % 32 == 0 && best[0] < value) best[0] = value;
}
