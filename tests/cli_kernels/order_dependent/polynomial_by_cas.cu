// Compare-and-swap of an operation that does not commute.
// launch: --grid 1 --block 128 --arg x=i32[1]=zeros
__global__ void append(int* x) {
  if (threadIdx.x % 32 != 0) return;
  int old = x[0], assumed;
  do {
    assumed = old;
    old = atomicCAS(x, assumed, assumed * 7 + 1 + threadIdx.x / 32);
  } while (old != assumed);
}
