// Lanes that have something to append count themselves by a ballot.
__global__ void append(const int* x, int* list, int* length, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  const bool wanted = i < n && x[i] % 3 == 0;
  const unsigned ballot = __ballot_sync(0xffffffffu, wanted);
  int start = 0;
  if (lane == 0 && ballot != 0) start = atomicAdd(length, __popc(ballot));
  start = __shfl_sync(0xffffffffu, start, 0);
  if (wanted) list[start + __popc(ballot & ((1u << lane) - 1))] = x[i];
}
