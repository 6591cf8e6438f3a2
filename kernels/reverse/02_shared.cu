// Through shared memory: reads and writes both rise with the thread index.
//
// Idea:    the block reads its piece, turns it around in shared memory, and writes it where it
//          belongs.
// Changes: what a GPU that coalesces ascending addresses only needs; on others it costs a barrier.
// Counter: shared load and store wavefronts; the global sectors are those of 01.
//
// Launch: blocks of THREADS, one per THREADS elements.
extern "C" __global__ void reverse(const ELEMENT* x, ELEMENT* y, long long n) {
  __shared__ ELEMENT piece[THREADS];
  const long long start = blockIdx.x * static_cast<long long>(THREADS);
  const int t = threadIdx.x;
  const int here = n - start < THREADS ? static_cast<int>(n - start) : THREADS;
  if (t < here) piece[here - 1 - t] = x[start + t];
  __syncthreads();
  if (t < here) y[n - start - here + t] = piece[t];
}
