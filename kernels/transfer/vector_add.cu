// c[i] = a[i] + b[i]: the kernel between the copies of the transfer pipelines.
//
// Idea:    one thread per element, the last block partly idle.
// Changes: nothing: here the link is measured, and the kernel takes a hundredth of its time.
// Counter: 4 sectors per request for each of the three arrays.
//
// a, b and c have n elements. Launch: blocks of 256 threads, grid covers n.
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, long long n) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
