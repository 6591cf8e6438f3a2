// A lock makes each step whole, but not their order.
// launch: --grid 3 --block 32 --arg x=i32[2]=zeros
__global__ void append(int* x) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(&x[1], 0, 1) != 0) {
  }
  __threadfence();
  x[0] = x[0] * 10 + 1 + blockIdx.x;
  __threadfence();
  atomicExch(&x[1], 0);
}
