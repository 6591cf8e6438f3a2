// 128-bit loads, several under way in every thread.
//
// Idea:    as saxpb/06, with two inputs: 2 UNROLL loads before the first addition.
// Changes: the bandwidth of the device's own copy.
// Counter: a quarter of the requests, 16 sectors each; DRAM throughput.
//
// C = A + B, n elements, all at multiples of 16 bytes. Launch: blocks of THREADS, one per
// THREADS * UNROLL packs.
#include "common/map.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    vector_add(const ELEMENT* A, const ELEMENT* B, ELEMENT* C, long long n) {
  map_tile<THREADS, UNROLL>({A, B}, C, n, [](const ELEMENT (&v)[2]) { return v[0] + v[1]; });
}
