// The first block claims the word, by an atomic.
// launch: --grid 4 --block 32 --arg x=i32[1]=zeros
__global__ void claim(int* x) {
  if (threadIdx.x == 0) atomicCAS(x, 0, 1 + blockIdx.x);
}
