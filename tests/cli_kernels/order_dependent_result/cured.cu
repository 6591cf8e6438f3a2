// Each row adds up the lengths of those before it.
__global__ void places(const int* lengths, int* begins, int* total) {
  if (threadIdx.x != 0) return;
  int begin = 0;
  for (int row = 0; row < blockIdx.x; row++) begin += lengths[row];
  begins[blockIdx.x] = begin;
  atomicAdd(total, lengths[blockIdx.x]);
}
