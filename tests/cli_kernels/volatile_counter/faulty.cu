// Threads count through a volatile pointer: two may read the same old value.
__global__ void count(volatile int* n) { n[0] = n[0] + 1; }
