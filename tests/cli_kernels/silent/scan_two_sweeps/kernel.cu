// Prefix sums by an up-sweep and a down-sweep over a tree.
__global__ void scan(const int* x, int* y) {
  __shared__ int tree[128];
  const int t = threadIdx.x;
  tree[2 * t] = x[2 * t];
  tree[2 * t + 1] = x[2 * t + 1];
  int width = 1;
  for (; width < 128; width *= 2) {
    __syncthreads();
    int right = (t + 1) * 2 * width - 1;
    if (right < 128) tree[right] += tree[right - width];
  }
  __syncthreads();
  if (t == 0) tree[127] = 0;
  for (width = 64; width > 0; width /= 2) {
    __syncthreads();
    int right = (t + 1) * 2 * width - 1;
    if (right < 128) {
      int left_sum = tree[right - width];
      tree[right - width] = tree[right];
      tree[right] += left_sum;
    }
  }
  __syncthreads();
  y[2 * t] = tree[2 * t];
  y[2 * t + 1] = tree[2 * t + 1];
}
