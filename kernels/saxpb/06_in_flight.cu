// Several 128-bit loads under way in every thread.
//
// Idea:    to keep memory busy, bandwidth times latency bytes must be under way (Little's law). A
//          thread issues UNROLL loads before it waits for the first, and marks data that is used
//          once as such.
// Changes: the bandwidth of the device's own copy.
// Counter: DRAM throughput; long-scoreboard stalls per instruction fall.
//
// y = a * x + b for n elements, x and y at multiples of 16 bytes. Launch: blocks of THREADS, one
// per THREADS * UNROLL packs.
#include "common/map.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    saxpb(const ELEMENT* x, ELEMENT a, ELEMENT b, ELEMENT* y, long long n) {
  map_tile<THREADS, UNROLL>({x}, y, n, [=](const ELEMENT (&v)[1]) { return a * v[0] + b; });
}
