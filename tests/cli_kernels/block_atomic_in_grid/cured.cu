// Every block counts its threads on one counter: the atomics must exclude those of other blocks.
__global__ void count(int* n) { atomicAdd(n, 1); }
