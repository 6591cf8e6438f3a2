// 128 bits a thread.
//
// Idea:    one instruction loads four floats, one stores four.
// Changes: a quarter of the load and store instructions for the same bytes.
// Counter: load requests fall to a quarter, at 16 sectors each.
//
// y = a * x + b for n elements, x and y at multiples of 16 bytes. Launch: one thread per whole pack
// and one per element left over.
#include "common/pack.cuh"

extern "C" __global__ void saxpb(const ELEMENT* x, ELEMENT a, ELEMENT b, ELEMENT* y, long long n) {
  constexpr int N = pack_size<ELEMENT>;
  using P = Pack<ELEMENT, N>;
  const long long i = threadIdx.x + blockIdx.x * static_cast<long long>(blockDim.x);
  const long long packs = n / N;
  if (i < packs) {
    const P from = reinterpret_cast<const P*>(x)[i];
    P to;
#pragma unroll
    for (int e = 0; e < N; ++e) to.at[e] = a * from.at[e] + b;
    reinterpret_cast<P*>(y)[i] = to;
  } else if (const long long left = packs * N + (i - packs); left < n) {
    y[left] = a * x[left] + b;
  }
}
