// Lanes with the same key let one of them do the atomic.
__global__ void agg(int* counters, const int* keys, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    unsigned active = __activemask();
    unsigned peers = __match_any_sync(active, keys[i]);
    int leader = __ffs(peers) - 1;
    if ((threadIdx.x & 31) == leader) atomicAdd(&counters[keys[i]], __popc(peers));
  }
}
