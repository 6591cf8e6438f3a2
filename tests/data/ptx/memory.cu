// Atomics, vectors, cache operators, fences.
#include <cuda/atomic>
__global__ void atomics(int* i, unsigned* u, unsigned long long* l, float* f, double* d,
                        unsigned short* s) {
  __shared__ int shared[32];
  i[0] = atomicAdd(i, 1);
  atomicAdd(i + 1, 1);
  i[2] = atomicExch(i, 3);
  u[0] = atomicMin(u, 4);
  atomicMax(i + 1, 5);
  u[1] = atomicInc(u, 6);
  atomicDec(u + 2, 7);
  i[4] = atomicCAS(i, 1, 2);
  atomicAnd(i, 3);
  atomicOr(i, 2);
  atomicXor(u, 1);
  atomicAdd(f, 1.f);
  atomicAdd(d, 1.);
  l[3] = atomicCAS(l, 1ull, 2ull);
  atomicCAS(s, (unsigned short)1, (unsigned short)2);
  atomicAdd_block(i, 1);
  atomicAdd_system(i, 1);
  shared[threadIdx.x] = 0;
  __syncthreads();
  i[7] = atomicAdd(shared, 2);
  cuda::atomic_ref<int, cuda::thread_scope_device> reference(*i);
  reference.fetch_add(1, cuda::memory_order_acquire);
  reference.store(2, cuda::memory_order_release);
  __threadfence();
  __threadfence_block();
  __threadfence_system();
}

__global__ void vectors(float4* f, double2* d, uchar4* c, int* p) {
  const float4 x = __ldcs(f), y = __ldg(f + 1);
  __stwt(f + 2, make_float4(x.x + y.x, x.y, y.z, x.w));
  d[1] = d[0];
  c[1] = c[0];
  __stcg(p, __ldcv(p + 1));
}
