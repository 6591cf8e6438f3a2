// The obvious reversal: thread i reads element i and writes element n - 1 - i.
//
// Idea:    one thread per element.
// Changes: nothing to compare with yet. Reads rise with the thread index, writes fall. The lecture's
//          GPU of 2010 could not coalesce the latter; today's counts the sectors, not the order.
// Counter: sectors per request, for loads and stores alike; one more where the length is odd.
//
// Launch: blocks of any size, together at least n threads.
extern "C" __global__ void reverse(const ELEMENT* x, ELEMENT* y, long long n) {
  const long long i = threadIdx.x + blockIdx.x * static_cast<long long>(blockDim.x);
  if (i < n) y[n - 1 - i] = x[i];
}
