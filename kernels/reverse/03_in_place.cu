// In place: two elements change places.
//
// Idea:    the first half of the threads swap element i with element n - 1 - i.
// Changes: no second list. The same bytes are read and written.
// Counter: half as many threads, two loads and two stores each.
//
// Launch: blocks of any size, together at least n / 2 threads.
extern "C" __global__ void reverse(ELEMENT* x, long long n) {
  const long long i = threadIdx.x + blockIdx.x * static_cast<long long>(blockDim.x);
  if (i < n / 2) {
    const ELEMENT low = x[i], high = x[n - 1 - i];
    x[i] = high;
    x[n - 1 - i] = low;
  }
}
