// Insertion continues to the left of the first place.
__global__ void shift(const int* x, const int* start, int* y) {
  int queue[8];
  for (int i = 0; i < 8; ++i) queue[i] = x[i];
  int at = start[threadIdx.x];
  queue[at - 1] = -1;
  int sum = 0;
  for (int i = 0; i < 8; ++i) sum += queue[i];
  y[threadIdx.x] = sum;
}
