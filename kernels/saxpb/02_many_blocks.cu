// Many blocks: the list is cut into pieces of one block each.
//
// Idea:    block and thread index together say which element is meant.
// Changes: all SMs work, and any length can be launched.
// Counter: blocks; 4 sectors per load request: neighbouring threads read neighbouring elements.
//
// y = a * x + b for n elements. Launch: blocks of any size, together at least n threads.
extern "C" __global__ void saxpb(const ELEMENT* x, ELEMENT a, ELEMENT b, ELEMENT* y, long long n) {
  const long long i = threadIdx.x + blockIdx.x * static_cast<long long>(blockDim.x);
  if (i < n) y[i] = a * x[i] + b;
}
