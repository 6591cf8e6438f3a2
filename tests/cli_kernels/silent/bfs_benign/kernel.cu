// A step of a breadth-first search: one atomic winner for each node, one flag for all.
__global__ void bfs(const int* edges, int* level, int depth, bool* again, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && level[i] == depth) {
    int to = edges[i];
    if (atomicCAS(&level[to], -1, depth + 1) == -1) *again = true;
  }
}
