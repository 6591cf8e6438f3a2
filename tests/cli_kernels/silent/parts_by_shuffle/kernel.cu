// Each lane reads one part of a row and receives the others by shuffles; the lanes shuffle their
// whole arrays, and only parts that somebody read are taken.
__global__ void rows(const float* x, float* y, int parts) {
  const int lane = threadIdx.x;
  float part[4];
  part[lane / 8] = x[lane];
  for (int p = 0; p < parts; ++p) part[p] = __shfl_sync(~0u, part[p], 8 * p + lane % 8);
  float sum = 0;
  for (int p = 0; p < parts; ++p) sum += part[p];
  y[lane] = sum;
}
