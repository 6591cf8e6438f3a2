// Threads count by an atomic.
__global__ void count(int* n) { atomicAdd(n, 1); }
