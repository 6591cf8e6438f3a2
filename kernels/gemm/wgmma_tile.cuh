// The common part of wgmma.cu and wgmma_stages.cu: a block's tile of C, the tiles of A and B that
// the copy engine brings for it, their product, and the way of the sums to C.
//
// Constants: TILE_M, TILE_N; OPERAND and STEP (wgmma.cuh); B_MN_MAJOR: whether rows of B in memory
// are rows of k; C_TYPE, READS_C, BIAS, ACTIVATION (epilogue.cuh).
#pragma once

#include "bulk_copy.cuh"
#include "epilogue.cuh"
#include "tile_order.cuh"
#include "wgmma.cuh"

constexpr int row_bytes = 128;                 // of a tile in shared memory, along k for A
constexpr int tile_k = row_bytes / element_bytes;
constexpr int steps = tile_k / STEP;           // wgmmas along k
constexpr int chunk_bytes = 64 * row_bytes;    // of MN-major tiles: 64 elements by 64 of k
static_assert(STEP == 16 || !B_MN_MAJOR, "tf32 tiles are K-major");

struct Maps {
  TensorMap a, b;
};

struct Arguments {
  int m, n, tiles_m, tiles_n, k_tiles;
  float alpha, beta;
  long long c_leading, c_stride;
  C_TYPE* c;
  const float* bias;
};

// The tiles of one step along k.
struct Tiles {
  alignas(1024) unsigned char a[TILE_M * row_bytes];
  alignas(1024) unsigned char b[TILE_N * row_bytes];
};

// The dynamic shared memory from its first multiple of 1,024 bytes, where swizzled tiles may lie.
__device__ inline unsigned char* aligned_shared_memory() {
  extern __shared__ unsigned char raw[];
  return raw + (1024 - shared_address(raw) % 1024) % 1024;
}

// The block's tile of C.
struct Place {
  int row, column, matrix;
};
__device__ inline Place place_of_block(const Arguments& p) {
  constexpr int group_rows = 8, splits = 1;
  const WorkUnit unit = work_unit(static_cast<int>(blockIdx.x), p.tiles_m, p.tiles_n, splits,
                                  group_rows);
  return {unit.tile_m * TILE_M, unit.tile_n * TILE_N, unit.batch};
}

// One thread starts the copies of step `kt`; what lies beyond an edge becomes zeros, and counts.
__device__ inline void start_copies(Tiles& to, Barrier& full, const Maps& maps, const Place& place,
                                    int kt) {
  const int k = kt * tile_k;
  arrive_expecting(full, sizeof(to.a) + sizeof(to.b));
  load_box(to.a, maps.a, full, k, place.row, place.matrix);
  if (B_MN_MAJOR) {
#pragma unroll
    for (int c = 0; c < TILE_N; c += 64) {
      load_box(to.b + c * row_bytes, maps.b, full, place.column + c, k, place.matrix);
    }
  } else {
    load_box(to.b, maps.b, full, k, place.column, place.matrix);
  }
}

using Sums = float[TILE_N / 2];  // of a thread: its warpgroup has 64 rows

// Starts sum += A * B, or with kt == 0 sum = A * B, for the 64 rows from `first_row` of the tile.
__device__ inline void start_products(Sums& sum, const Tiles& tiles, int first_row, int kt) {
  const unsigned long long a = k_major_tile(tiles.a + first_row * row_bytes);
  const unsigned long long b =
      B_MN_MAJOR ? mn_major_tile(tiles.b, chunk_bytes) : k_major_tile(tiles.b);
  pin(sum);
  begin_products();
#pragma unroll
  for (int step = 0; step < steps; ++step) {
    Products<TILE_N>::add<false, B_MN_MAJOR>(
        sum, advanced(a, 32 * step), advanced(b, step * (B_MN_MAJOR ? 16 * row_bytes : 32)),
        kt > 0 || step > 0);
  }
  commit_products();
  pin(sum);
}

// The sums straight from the registers (wgmma.cuh says whose are which), inside C alone.
__device__ inline void store(const Sums& sum, const Arguments& p, const Place& place,
                             int first_row) {
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int row = place.row + first_row + 16 * warp + lane / 4 + 8 * h;
    if (row >= p.m) continue;
    C_TYPE* const c = p.c + place.matrix * p.c_stride + row * p.c_leading;
#pragma unroll
    for (int i = 0; i < TILE_N / 4; ++i) {
      const int column = place.column + i / 2 * 8 + lane % 4 * 2 + i % 2;
      if (column >= p.n) continue;
      store_with_epilogue<READS_C, ACTIVATION>(c + column, sum[i / 2 * 4 + 2 * h + i % 2], p.alpha,
                                               p.beta, bias_at<BIAS>(p.bias, row, column));
    }
  }
}
