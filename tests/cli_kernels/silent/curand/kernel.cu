// Random numbers on the device; the state is a large local structure.
#include <curand_kernel.h>
__global__ void pi(int* count, int n) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  curandState s; curand_init(1234, id, 0, &s);
  int c = 0;
  for (int i = 0; i < n; ++i) { float x = curand_uniform(&s), y = curand_uniform(&s); if (x*x + y*y < 1) ++c; }
  atomicAdd(count, c);
}
