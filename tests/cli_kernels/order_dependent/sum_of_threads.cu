// All threads add to one number, and none waits for the others.
// launch: --grid 1 --block 128 --arg sum=i32[1]=zeros
__global__ void add(int* sum) { sum[0] += threadIdx.x; }
