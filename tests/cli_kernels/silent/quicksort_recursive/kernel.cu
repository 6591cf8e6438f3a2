// Recursion.
__device__ void sort(int* a, int lo, int hi) {
  if (lo >= hi) return;
  int p = a[hi], i = lo;
  for (int j = lo; j < hi; ++j) if (a[j] < p) { int t = a[i]; a[i] = a[j]; a[j] = t; ++i; }
  a[hi] = a[i]; a[i] = p;
  sort(a, lo, i - 1); sort(a, i + 1, hi);
}
__global__ void k(int* data) { sort(data + 32 * threadIdx.x, 0, 31); }
