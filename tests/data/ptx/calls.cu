// Calls of every kind, switches, loops, local arrays.
#include <cassert>
#include <cstdio>

struct Pair {
  double first;
  int second[5];
};
__device__ int increment(int x) { return x + 1; }
__device__ int twice(int x) { return 2 * x; }
__device__ int (*table[2])(int) = {increment, twice};
__device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__device__ __noinline__ Pair make(int n, Pair pair) {
  pair.second[n] = n;
  return pair;
}

__global__ void call(int* p, Pair pair, const __grid_constant__ Pair constant) {
  p[0] = table[p[1] & 1](p[2]);
  p[3] = fibonacci(p[4]);
  const Pair made = make(p[5], pair);
  p[6] = made.second[p[7]] + constant.second[p[8]];
  printf("%d %f\n", p[9], made.first);
  assert(p[10] > 0);
  int* memory = static_cast<int*>(malloc(16));
  p[11] = memory[1];
  free(memory);
}

__global__ void branch(int* p, int n) {
  switch (p[n]) {
    case 0: p[0] = n / 3; break;
    case 1: p[1] = n * 3; break;
    case 2: p[2] = n + 77; break;
    case 3: p[3] = n ^ 5; break;
    case 4: p[4] = n * n; break;
    case 5: p[5] = n % 9; break;
    default: p[7] = 8;
  }
  int local[64];
  for (int i = 0; i < n; ++i) local[p[i] & 63] += i;
  p[8] = local[n & 63];
  if (p[9] == 4) {
    for (;;) {
      if (p[0]) p[1]++;
      else p[2]--;
    }
  }
}
