// Sums of doubles by compare-and-swap: the first read needs no atomic, for the swap tests its value.
__device__ double add(double* a, double v) {
  unsigned long long* p = reinterpret_cast<unsigned long long*>(a);
  unsigned long long old = *p, assumed;
  do {
    assumed = old;
    old = atomicCAS(p, assumed, __double_as_longlong(v + __longlong_as_double(assumed)));
  } while (assumed != old);
  return __longlong_as_double(old);
}
__global__ void k(double* y, const double* x) {
  __shared__ double part;
  if (threadIdx.x == 0) part = 0.0;
  __syncthreads();
  add(&part, x[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) add(y, part);
}
