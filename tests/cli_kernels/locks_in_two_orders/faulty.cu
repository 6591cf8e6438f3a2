// Two blocks move amounts between two accounts, and each locks the one it takes from first.
__device__ void lock(int* word) {
  while (atomicCAS(word, 0, 1) != 0) {
  }
  __threadfence();
}

__device__ void unlock(int* word) {
  __threadfence();
  atomicExch(word, 0);
}

__global__ void move(int* accounts, int* locks) {
  if (threadIdx.x != 0) return;
  int from = blockIdx.x % 2, to = 1 - from;
  lock(&locks[from]);
  lock(&locks[to]);
  accounts[from] -= 10;
  accounts[to] += 10;
  unlock(&locks[to]);
  unlock(&locks[from]);
}
