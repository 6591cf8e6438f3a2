// Products of any types by tiles that threads load element by element: what general.cu and
// grouped.cu share. Needs A_TYPE, OPERAND, PER_THREAD and the constants of epilogue.cuh.
#pragma once

#include "epilogue.cuh"

using Sum = decltype(operand<OPERAND>(A_TYPE()));

constexpr int side = 16;   // threads along either side of a tile
constexpr int depth = 16;  // of k at a time
constexpr int tile_side = side * PER_THREAD;

// A tile of an operand: `depth` steps of k, each with `tile_side` values along m or n. The column
// more spreads the banks when consecutive threads hold consecutive steps.
using Tile = Sum[depth][tile_side + 1];

// Loads elements [start, start + tile_side) along m or n, steps [step, step + depth) of k.
// `along_steps`: whether k is the index that runs fastest in memory. `scaled(value, x, s)` is what an
// element of row or column x and step s becomes.
template <typename Element, typename Index, typename Scaled>
__device__ inline void load_tile(Tile& to, const Element* matrix, bool along_steps,
                                 long long leading, Index start, Index count, Index step,
                                 Index steps, const Scaled& scaled) {
  for (int i = threadIdx.x; i < depth * tile_side; i += side * side) {
    const int s = along_steps ? i % depth : i / tile_side;
    const int x = along_steps ? i / depth : i % tile_side;
    const long long at =
        along_steps ? (start + x) * leading + step + s : (step + s) * leading + start + x;
    const bool inside = start + x < count && step + s < steps;
    to[s][x] = inside ? scaled(operand<OPERAND>(matrix[at]), start + x, step + s) : Sum(0);
  }
}
template <typename Element, typename Index>
__device__ inline void load_tile(Tile& to, const Element* matrix, bool along_steps,
                                 long long leading, Index start, Index count, Index step,
                                 Index steps) {
  load_tile(to, matrix, along_steps, leading, start, count, step, steps,
            [](Sum value, Index, Index) { return value; });
}

// A thread's elements of a tile of C: rows and columns `side` apart.
struct ThreadSums {
  int tx = threadIdx.x % side, ty = threadIdx.x / side;
  Sum sums[PER_THREAD][PER_THREAD] = {};

  // Adds the products of two tiles.
  __device__ void add(const Tile& a_tile, const Tile& b_tile) {
    // Not further unrolled: doubles would spill.
#pragma unroll 4
    for (int s = 0; s < depth; ++s) {
      for (int i = 0; i < PER_THREAD; ++i) {
        for (int j = 0; j < PER_THREAD; ++j) {
          sums[i][j] =
              multiply_add(a_tile[s][ty + side * i], b_tile[s][tx + side * j], sums[i][j]);
        }
      }
    }
  }

  // Stores them in the tile of C (m x n) that begins at (row_start, column_start).
  template <typename Index>
  __device__ void store(C_TYPE* C, long long leading, Index row_start, Index column_start, Index m,
                        Index n, Sum alpha, Sum beta, const float* bias) const {
    // Unrolled whatever the activation costs: the sums stay in registers.
#pragma unroll
    for (int i = 0; i < PER_THREAD; ++i) {
      const Index row = row_start + ty + side * i;
#pragma unroll
      for (int j = 0; j < PER_THREAD; ++j) {
        const Index column = column_start + tx + side * j;
        if (row >= m || column >= n) continue;
        store_with_epilogue<READS_C, ACTIVATION>(&C[row * leading + column], sums[i][j], alpha,
                                                 beta, bias_at<BIAS>(bias, row, column));
      }
    }
  }
};
