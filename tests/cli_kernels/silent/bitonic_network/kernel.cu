// A sorting network in shared memory; pairs are exchanged by the lower of two threads.
__global__ void sort(unsigned* keys, int n) {
  extern __shared__ unsigned key[];
  const int t = threadIdx.x;
  key[t] = t < n ? keys[t] : 0xffffffffu;
  for (int size = 2; size <= blockDim.x; size *= 2) {
    for (int distance = size / 2; distance > 0; distance /= 2) {
      __syncthreads();
      const int other = t ^ distance;
      if (other > t && (key[t] > key[other]) == ((t & size) == 0)) {
        const unsigned mine = key[t];
        key[t] = key[other];
        key[other] = mine;
      }
    }
  }
  __syncthreads();
  if (t < n) keys[t] = key[t];
}
