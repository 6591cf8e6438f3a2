// How the sums of register_operand.cu's threads become rows of C, or of the sums of a part of k; or
// columns, where the product is transposed.
//
// Constants: those of register_operand.cu.
#pragma once

#include "epilogue.cuh"
#include "prefetch.cuh"
#include "register_tile.cuh"
#include "whole_store.cuh"

using Kept = float[PRODUCTS][rows_kept / 2];  // of a thread

struct alignas(at_once * sizeof(C_TYPE)) ResultsAtOnce {
  C_TYPE values[at_once];
};

// A thread's neighbours in row j / 2 * 8 + j % 2 + 2 (lane % 4) of the tile.
__device__ inline void take_row(float (&values)[at_once], const Kept& sum, const Place& place,
                                int j) {
#pragma unroll
  for (int v = 0; v < at_once; ++v) {
    const int at = j / 2 * 4 + j % 2 + v % 2 * 2;
    values[v] = PRODUCTS == 1 || (v / 2 == place.pair) ? sum[0][at] : sum[PRODUCTS - 1][at];
  }
}

// The warps that have the columns of a strip: one, or two.
__device__ inline void synchronise_strip(int strip) {
  if (PRODUCTS == 2) {
    __syncwarp();
  } else {
    asm volatile("bar.sync %0, 64;" ::"r"(4 + strip) : "memory");
  }
}

// Rows of C that begin anywhere: strips of 32 columns cross shared memory, eight rows at a time, so
// that the lanes of a warp store neighbours.
__device__ inline void store_strip(const Kept& sum, const Arguments& p, const BlockUnit& unit,
                                   const Place& place, Shared& shared) {
  if (unit.column + place.first >= p.n) return;
  constexpr int warps = PRODUCTS == 1 ? 2 : 1;
  const int lane = threadIdx.x % 32, t = lane % 4, strip = place.first / strip_columns;
  const int column = unit.column + place.first + lane;
  const int first = warps == 1 ? 0 : threadIdx.x / 32 % 2;
  const float of_column = BIAS == bias_of_column && column < p.n ? p.bias[column] : 0.0F;
  // Read once: between barriers the compiler reads arguments again for every element.
  const float alpha = p.alpha;
  // Only the tile's rows that C has. Pointers go from row to row, since these stores are short.
  const int top = row_of_c(unit, unit.row), rows_left = (p.m - top + A_CLASSES - 1) / A_CLASSES;
  const int left = column < p.n ? rows_left - first : 0;
  const long long pitch = A_CLASSES * p.c_leading;
  C_TYPE* const first_of_c = static_cast<C_TYPE*>(p.c) + unit.batch * p.c_stride + column +
                             top * p.c_leading + first * pitch;
  C_TYPE* to_c = first_of_c;
  // A read of C behind a write would wait for it: a lot is read before the lot ahead of it is
  // written.
  constexpr int rows_of_warp = lot_rows / warps;
  float before[2][rows_of_warp] = {};
  const auto read_c = [&](int lot) {
    if constexpr (READS_C) {
#pragma unroll
      for (int r = 0; r < rows_of_warp; ++r) {
        const int in_tile = lot * lot_rows + r * warps;
        if (in_tile < min(left, rows_kept)) {
          before[lot % 2][r] = widen(first_of_c[in_tile * pitch]);
        }
      }
    }
  };
  read_c(0);
  synchronise_strip(strip);  // the tile before this one has been read
#pragma unroll
  for (int lot = 0; lot < rows_kept / lot_rows; ++lot) {
    if (lot * lot_rows >= rows_left) break;
    read_c(lot + 1);
    Lot& rows = shared.c[strip][lot % 2];
#pragma unroll
    for (int odd = 0; odd < 2; ++odd) {
      float values[at_once];
      take_row(values, sum, place, 2 * lot + odd);
      float* const to = &rows[2 * t + odd][4 * (place.chunk ^ t)];
      if (PRODUCTS == 2) {
        *reinterpret_cast<float4*>(to) =
            make_float4(values[0], values[1], values[at_once - 2], values[at_once - 1]);
      } else {
        *reinterpret_cast<float2*>(to + 2 * place.pair) = make_float2(values[0], values[1]);
      }
    }
    synchronise_strip(strip);
#pragma unroll
    for (int r = 0; r < lot_rows; r += warps, to_c += warps * pitch) {
      const bool exists = lot * lot_rows + r < left;
      float bias = of_column;
      if (BIAS == bias_of_row && exists) {
        bias = p.bias[row_of_c(unit, unit.row + lot * lot_rows + r + first)];
      }
      const float value = rows[r + first][4 * (lane / 4 ^ r / 2) + t];
      store_if(to_c,
               narrow<C_TYPE>(epilogue<ACTIVATION>(value, alpha, READS_C ? p.beta : 0.0F,
                                                   before[lot % 2][r / warps], bias)),
               exists);
    }
  }
}

// Sums of a part of k. Their pitch is a multiple of 4: what is stored past the end of a row falls
// into the gap.
__device__ inline void store_partial(const Kept& sum, const Arguments& p, const BlockUnit& unit,
                                     const Place& place, int column) {
  const long long plane = static_cast<long long>(unit.batch) * p.splits + unit.split;
  float* const partial = p.partial + plane * p.m * p.partial_pitch + column;
#pragma unroll
  for (int j = 0; j < rows_kept / 4; ++j) {
    const int row = row_of_c(unit, unit.row + j / 2 * 8 + j % 2 + threadIdx.x % 4 * 2);
    if (row >= p.m) break;
    float values[at_once];
    take_row(values, sum, place, j);
    float* const to = partial + row * p.partial_pitch;
    if (PRODUCTS == 2) {
      *reinterpret_cast<float4*>(to) =
          make_float4(values[0], values[1], values[at_once - 2], values[at_once - 1]);
    } else {
      *reinterpret_cast<float2*>(to) = make_float2(values[0], values[1]);
    }
  }
}

// Rows of C in which a thread's neighbours can be stored at once, where all of them are C's; four
// rows by a warp at a time.
template <bool at_edge>
__device__ inline void store_neighbours(const Kept& sum, const Arguments& p, const BlockUnit& unit,
                                        const Place& place, int column) {
  const int count = at_edge ? p.n - column : at_once;
  C_TYPE* const c = static_cast<C_TYPE*>(p.c) + unit.batch * p.c_stride + column;
  float bias[at_once];
#pragma unroll
  for (int v = 0; v < at_once; ++v) {
    bias[v] = BIAS == bias_of_column && v < count ? p.bias[column + v] : 0.0F;
  }
  const auto row_at = [&](int j) {
    return row_of_c(unit, unit.row + j / 2 * 8 + j % 2 + threadIdx.x % 4 * 2);
  };
  // A read behind a write would wait for it: what a lot of rows adds is read before the first of them
  // is written.
  constexpr int lot = READS_C || BIAS == bias_of_row ? 4 : 1;
#pragma unroll
  for (int first = 0; first < rows_kept / 4; first += lot) {
    ResultsAtOnce results[lot];
    float of_row[lot] = {};
#pragma unroll
    for (int i = 0; BIAS == bias_of_row && i < lot; ++i) {
      if (row_at(first + i) < p.m) of_row[i] = p.bias[row_at(first + i)];
    }
#pragma unroll
    for (int i = 0; READS_C && i < lot; ++i) {
      const C_TYPE* const from = c + row_at(first + i) * p.c_leading;
      if (row_at(first + i) >= p.m) break;
      if (!at_edge) {
        results[i] = *reinterpret_cast<const ResultsAtOnce*>(from);
      } else {
#pragma unroll
        for (int v = 0; v < at_once; ++v) {
          if (v < count) results[i].values[v] = from[v];
        }
      }
    }
#pragma unroll
    for (int i = 0; i < lot; ++i) {
      const int row = row_at(first + i);
      if (row >= p.m) break;
      float values[at_once];
      take_row(values, sum, place, first + i);
      C_TYPE* const to = c + row * p.c_leading;
#pragma unroll
      for (int v = 0; v < at_once; ++v) {
        if (v >= count) continue;
        store_with_epilogue<READS_C, ACTIVATION>(&results[i].values[v], values[v], p.alpha,
                                                 READS_C ? p.beta : 0.0F,
                                                 BIAS == bias_of_row ? of_row[i] : bias[v]);
        if (at_edge) to[v] = results[i].values[v];
      }
      if (!at_edge) *reinterpret_cast<ResultsAtOnce*>(to) = results[i];
    }
  }
}

// Two neighbours in a column.
template <typename Element>
struct alignas(2 * sizeof(Element)) RowPair {
  Element upper, lower;
};

// A column of a transposed product, which lies in memory as a row: `rows` is its first element,
// `count` their number. The four lanes that have the column store eight rows at a time: each rows
// `top` and `top` + 1, and those eight further on. `finished` makes sum `i` of the thread, and what
// the row held, an element.
template <typename Element, bool in_pairs, bool reads, typename Finish>
__device__ inline void store_column(Element* rows, int top, int count, const float* bias,
                                    const Finish& finished) {
  // A read behind a write would wait for it: what a lot adds is read before its first row is written.
  constexpr bool adds_bias = BIAS == bias_of_row && !PARTIAL;
  constexpr int pairs_of_column = rows_kept / 8, most = reads || adds_bias ? 8 : 1;
  constexpr int lot = pairs_of_column < most ? pairs_of_column : most;
#pragma unroll
  for (int first = 0; first < pairs_of_column; first += lot) {
    RowPair<Element> pairs[lot] = {};
    RowPair<float> added[lot] = {};
#pragma unroll
    for (int i = 0; i < lot; ++i) {
      const int row = top + 8 * (first + i);
      if (row >= count) continue;
      if (adds_bias) added[i] = {bias[row], row + 1 < count ? bias[row + 1] : 0.0F};
      if (!reads) continue;
      if (in_pairs && row + 1 < count) {
        pairs[i] = *reinterpret_cast<const RowPair<Element>*>(rows + row);
      } else {
        pairs[i].upper = rows[row];
        if (row + 1 < count) pairs[i].lower = rows[row + 1];
      }
    }
#pragma unroll
    for (int i = 0; i < lot; ++i) {
      const int row = top + 8 * (first + i), at = 4 * (first + i);
      if (row >= count) continue;
      pairs[i].upper = finished(at, pairs[i].upper, added[i].upper);
      pairs[i].lower = finished(at + 1, pairs[i].lower, added[i].lower);
      if (in_pairs && row + 1 < count) {
        *reinterpret_cast<RowPair<Element>*>(rows + row) = pairs[i];
      } else {
        rows[row] = pairs[i].upper;
        if (row + 1 < count) rows[row + 1] = pairs[i].lower;
      }
    }
  }
}

__device__ inline void store_columns(const Kept& sum, const Arguments& p, const BlockUnit& unit,
                                     const Place& place, int column) {
  const int top = unit.row + threadIdx.x % 4 * 2;
#pragma unroll
  for (int v = 0; v < at_once; ++v) {
    const int at = column + v;
    if (at >= p.n) break;
    const auto sum_at = [&](int i) {
      i += v % 2 * 2;
      return PRODUCTS == 1 || v / 2 == place.pair ? sum[0][i] : sum[PRODUCTS - 1][i];
    };
    if (PARTIAL) {
      const long long plane = static_cast<long long>(unit.batch) * p.splits + unit.split;
      store_column<float, true, false>(p.partial + (plane * p.n + at) * p.partial_pitch, top, p.m,
                                       p.bias, [&](int i, float, float) { return sum_at(i); });
    } else {
      const float bias = BIAS == bias_of_column ? p.bias[at] : 0.0F;
      store_column<C_TYPE, C_ALIGNED, READS_C>(
          static_cast<C_TYPE*>(p.c) + unit.batch * p.c_stride + at * p.c_leading, top, p.m,
          p.bias, [&](int i, C_TYPE before, float of_row) {
            return narrow<C_TYPE>(epilogue<ACTIVATION>(
                sum_at(i), p.alpha, READS_C ? p.beta : 0.0F, READS_C ? widen(before) : 0.0F,
                BIAS == bias_of_row ? of_row : bias));
          });
    }
  }
}

// Prefetches what C holds of the rows that this block keeps.
__device__ inline void prefetch_c(const Arguments& p, const BlockUnit& unit) {
  constexpr int element = sizeof(C_TYPE), consumers = 128 * CONSUMERS;
  const int row = unit.row + (PAIR == PAIR_SHARES_C ? cluster_rank() * rows_kept : 0);
  const C_TYPE* const c = static_cast<const C_TYPE*>(p.c) + unit.batch * p.c_stride;
  const long long pitch = p.c_leading * element;
  const int top = row_of_c(unit, row), columns = p.n - unit.column, thread = threadIdx.x - 128;
  if (TRANSPOSED) {
    prefetch_rows<tile_n, rows_kept * element, consumers>(c + unit.column * p.c_leading + row, pitch,
                                                          columns, (p.m - row) * element, thread);
  } else {
    prefetch_rows<rows_kept, tile_n * element, consumers>(
        c + top * p.c_leading + unit.column, A_CLASSES * pitch, (p.m - top + A_CLASSES - 1) / A_CLASSES,
        columns * element, thread);
  }
}

__device__ inline void store(const Kept& sum, const Arguments& p, const BlockUnit& unit,
                             const Place& place, Shared& shared) {
  if (through_shared) {
    store_strip(sum, p, unit, place, shared);
    return;
  }
  const int column =
      unit.column + place.first + 4 * place.chunk + (PRODUCTS == 1 ? 2 * place.pair : 0);
  if (column >= p.n) return;
  if (TRANSPOSED) {
    store_columns(sum, p, unit, place, column);
  } else if (PARTIAL) {
    store_partial(sum, p, unit, place, column);
  } else if (column + at_once <= p.n) {
    store_neighbours<false>(sum, p, unit, place, column);
  } else {
    store_neighbours<true>(sum, p, unit, place, column);
  }
}
