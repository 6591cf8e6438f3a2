// The total of the pair is never set.
struct Pair {
  float part, total;
};
__global__ void add(const float* x, float* y) {
  __shared__ Pair pairs[32];
  int t = threadIdx.x;
  pairs[t].part = x[t];
  pairs[t].total = 0.0f;
  __syncwarp();
  y[t] = pairs[t].total + pairs[31 - t].part;
}
