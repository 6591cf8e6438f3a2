// The picture as one list, 128-bit loads, several under way in every thread.
//
// Idea:    a dense picture needs no rows to be scaled.
// Changes: no divergence but at the end of the list; the bandwidth of the device's own copy.
// Counter: a quarter of the requests, 16 sectors each; DRAM throughput.
//
// out = factor * in, m rows of n columns, both at multiples of 16 bytes. Launch: blocks of THREADS,
// one per THREADS * UNROLL packs.
#include "common/map.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    scale(const ELEMENT* in, ELEMENT* out, long long n, long long m, ELEMENT factor) {
  map_tile<THREADS, UNROLL>({in}, out, n * m,
                            [=](const ELEMENT (&v)[1]) { return factor * v[0]; });
}
