// One block, one thread per element: the lecture's first kernel.
//
// Idea:    the loop over the elements is gone; the launch <<<1, n>>> stands for it.
// Changes: nothing to compare with yet. One block runs on one SM, the others idle, and a block has
//          at most 1,024 threads: a longer list cannot be launched.
// Counter: one block; load and store efficiency are full, the bandwidth is that of one SM.
//
// y = a * x + b for n elements. Launch: one block of n threads.
extern "C" __global__ void saxpb(const ELEMENT* x, ELEMENT a, ELEMENT b, ELEMENT* y, long long n) {
  const int i = threadIdx.x;
  if (i < n) y[i] = a * x[i] + b;
}
