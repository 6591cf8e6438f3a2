// The first places of tiles of A whose boxes begin early, in register_operand.cu.
//
// Rows of a class that begins `shift` elements early have as many places before their first
// elements. Such places of the tile that has the rows' beginnings hold zeros, or elements of the
// row before. For their sake k may need one tile more than its length says: then the few elements
// that would be alone in it stand in these places instead. Threads read them from memory while the
// copies of the first tile are on their way.
//
// Constants: those of register_operand.cu.
#pragma once

#include "register_tile.cuh"

struct Tail {
  unsigned a[(TILE_M + 127) / 128][most_tail];  // of rows of the tile
  unsigned b[PRODUCTS][4];                      // as a thread's fragments of the first step
};

// Zeros for places that stay empty.
__device__ inline void load_tail(Tail& tail, const Arguments& p, const BlockUnit& unit,
                                 const Place& place) {
  const int first = p.k - unit.tail, t = threadIdx.x % 4;
#pragma unroll
  for (int i = 0; i < (TILE_M + 127) / 128; ++i) {
    const int row = 128 * i + threadIdx.x % 128, of_a = row_of_c(unit, unit.row + row);
    const unsigned* const from = p.a + unit.batch * p.a_stride + of_a * p.a_leading + first;
    const int count = row < TILE_M && of_a < p.m ? unit.tail : 0;
#pragma unroll
    for (int e = 0; e < most_tail; ++e) tail.a[i][e] = e < count ? from[e] : 0;
  }
#pragma unroll
  for (int i = 0; i < PRODUCTS; ++i) {
    const int column = unit.column + place.first + 4 * place.chunk + 2 * (place.pair ^ i);
    const unsigned* const from = p.b + unit.batch * p.b_stride + (first + t) * p.b_leading + column;
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const bool is_in = t + e / 2 * 4 < unit.tail && column + e % 2 < p.n;
      tail.b[i][e] = is_in ? from[e / 2 * 4 * p.b_leading + e % 2] : 0;
    }
  }
}

// Writes the first `shift` columns of the first tile of A, in its swizzled rows. Consumers need not
// agree: each writes the same.
__device__ inline void write_tail(unsigned char* a, const Tail& tail, int shift, int consumer) {
#pragma unroll
  for (int i = 0; i < (TILE_M + 127) / 128; ++i) {
    const int row = 128 * i + threadIdx.x % 128;
    if (row >= TILE_M) break;
#pragma unroll
    for (int e = 0; e < most_tail; ++e) {
      unsigned char* const chunk = a + row * row_bytes + 16 * (e / 4 ^ row % 8);
      if (e < shift) reinterpret_cast<unsigned*>(chunk)[e % 4] = tail.a[i][e];
    }
  }
  publish_shared();
  asm volatile("bar.sync %0, 128;" ::"r"(1 + consumer) : "memory");
}
