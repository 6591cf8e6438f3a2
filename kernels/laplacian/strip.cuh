// Four neighbouring cells of a row, as one lane of a warp holds them. A warp holds 128.
#pragma once

#include "common/pack.cuh"

constexpr int N = 4;
struct Cells {
  ELEMENT at[N];
};

/// Cells column ... column + 3 of a row, zeros outside the grid. ALIGNED is 1 if all rows begin at
/// multiples of N cells; then a lane's cells lie inside all together or not at all.
__device__ inline Cells load_cells(const ELEMENT* in, int row, int column, int rows, int columns) {
  Cells cells = {};
  if (row < 0 || row >= rows) return cells;
  const ELEMENT* const line = in + static_cast<long long>(row) * columns;
#if ALIGNED
  if (column >= 0 && column < columns) {
    constexpr int M = pack_size<ELEMENT> < N ? pack_size<ELEMENT> : N;
    using P = Pack<ELEMENT, M>;
#pragma unroll
    for (int i = 0; i < N; i += M) {
      const P pack = *reinterpret_cast<const P*>(line + column + i);
#pragma unroll
      for (int e = 0; e < M; ++e) cells.at[i + e] = pack.at[e];
    }
  }
#else
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if (column + i >= 0 && column + i < columns) cells.at[i] = line[column + i];
  }
#endif
  return cells;
}

__device__ inline void store_cells(ELEMENT* out, int row, int column, int columns,
                                   const Cells& cells) {
  ELEMENT* const line = out + static_cast<long long>(row) * columns;
#if ALIGNED
  if (column >= 0 && column < columns) {
    constexpr int M = pack_size<ELEMENT> < N ? pack_size<ELEMENT> : N;
    using P = Pack<ELEMENT, M>;
#pragma unroll
    for (int i = 0; i < N; i += M) {
      P pack;
#pragma unroll
      for (int e = 0; e < M; ++e) pack.at[e] = cells.at[i + e];
      *reinterpret_cast<P*>(line + column + i) = pack;
    }
  }
#else
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if (column + i >= 0 && column + i < columns) line[column + i] = cells.at[i];
  }
#endif
}

/// One step for four cells, of which `middle` is the row, `west` and `east` the cells beside it.
__device__ inline Cells step(const Cells& north, const Cells& middle, const Cells& south,
                             ELEMENT west, ELEMENT east, ELEMENT center, ELEMENT side) {
  Cells result;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const ELEMENT left = i > 0 ? middle.at[i - 1] : west;
    const ELEMENT right = i + 1 < N ? middle.at[i + 1] : east;
    result.at[i] = center * middle.at[i] + side * ((north.at[i] + south.at[i]) + (left + right));
  }
  return result;
}
