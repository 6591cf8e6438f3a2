// Packs of up to 16 bytes in and out; small blocks are transposed in registers.
//
// Idea:    each thread reads N packs of N elements, one below the other, and transposes this N x N
//          block in registers. Packs of the result go through shared memory, swizzled, so that rows
//          of the result are written as long packs too.
// Changes: a quarter of all load, store and shared memory instructions, and N loads under way in
//          every thread.
// Counter: 16 sectors a request; shared bank conflicts 0; DRAM throughput.
//
// in: rows x columns, row-major, both at multiples of 16 bytes. ALIGNED_IN is 1 if columns, ALIGNED_OUT
// if rows is a multiple of N; else elements are read or written one by one.
// Launch: blocks of 256, grid of the tiles of 16 N x 16 N in one dimension.
#include "common/pack.cuh"

constexpr int N = sizeof(ELEMENT) == 8 ? 2 : 4;
constexpr int side = 16 * N;  // of the tile
using P = Pack<ELEMENT, N>;

extern "C" __global__ void __launch_bounds__(256)
    transpose(const ELEMENT* in, ELEMENT* out, long long rows, long long columns) {
  __shared__ P tile[side][16];  // [column of the input][group of N rows, swizzled]
  const long long tiles_across = (columns + side - 1) / side;
  const long long first_column = blockIdx.x % tiles_across * side;
  const long long first_row = blockIdx.x / tiles_across * side;
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;

  {
    const long long row = first_row + y * N, column = first_column + x * N;
    P loaded[N];
#pragma unroll
    for (int r = 0; r < N; ++r) {
      if (ALIGNED_IN) {
        if (row + r < rows && column < columns) {
          loaded[r] = load_once(reinterpret_cast<const P*>(in + (row + r) * columns + column));
        }
      } else {
#pragma unroll
        for (int c = 0; c < N; ++c) {
          if (row + r < rows && column + c < columns) {
            loaded[r].at[c] = in[(row + r) * columns + column + c];
          }
        }
      }
    }
#pragma unroll
    for (int c = 0; c < N; ++c) {
      P transposed;
#pragma unroll
      for (int r = 0; r < N; ++r) transposed.at[r] = loaded[r].at[c];
      // Lanes with neighbouring x store N rows apart; the XOR sends them to different banks.
      tile[x * N + c][y ^ x] = transposed;
    }
  }
  __syncthreads();

#pragma unroll
  for (int step = 0; step < N; ++step) {
    const int c = step * 16 + y;  // the input's column: a row of the result
    const P transposed = tile[c][x ^ (c / N)];
    const long long to_row = first_column + c, to_column = first_row + x * N;
    ELEMENT* const to = out + to_row * rows + to_column;
    if (to_row >= columns) continue;
    if (ALIGNED_OUT) {
      if (to_column < rows) store_once(reinterpret_cast<P*>(to), transposed);
    } else {
#pragma unroll
      for (int r = 0; r < N; ++r) {
        if (to_column + r < rows) to[r] = transposed.at[r];
      }
    }
  }
}
