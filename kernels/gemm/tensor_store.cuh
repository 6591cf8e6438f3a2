// How the sums of a tile become C, or the partial sums of a part of k.
#pragma once

#include "box_chunks.cuh"
#include "chunk_shift.cuh"
#include "tensor_addend.cuh"
#include "whole_store.cuh"

__device__ inline float finished(float sum, float before, float bias, const Arguments& p) {
  return epilogue<ACTIVATION>(sum, p.alpha, READS_C ? p.beta : 0.0F, before, bias);
}
// Products of integers are A * B alone.
__device__ inline int finished(int sum, int, float, const Arguments&) { return sum; }

// Sums straight to memory, from each thread's registers.
__device__ inline void store_elements(const Sum (&sum)[TILE_N / 2], const Arguments& p,
                                      const BlockUnit& unit, int first_row) {
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int row = row_of_c(unit, unit.row + first_row + 16 * warp + lane / 4 + 8 * h);
    if (row >= p.m) continue;
    const long long plane = static_cast<long long>(unit.batch) * p.splits + unit.split;
    float* const partial = p.partial + (plane * p.m + row) * p.partial_pitch;
    C_TYPE* const c = static_cast<C_TYPE*>(p.c) + unit.batch * p.c_stride + row * p.c_leading;
#pragma unroll
    for (int j = 0; j < TILE_N / 8; ++j) {
      const int column = unit.column + 8 * j + lane % 4 * 2;
      if (C_STORE == store_partial) {
        // The pitch is even: a pair at the end may write into the gap.
        if (column < p.n) {
          *reinterpret_cast<float2*>(partial + column) =
              make_float2(sum[4 * j + 2 * h], sum[4 * j + 2 * h + 1]);
        }
      } else {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          if (column + e >= p.n) continue;
          C_TYPE* const at = c + column + e;
          *at = narrow<C_TYPE>(finished(sum[4 * j + 2 * h + e],
                                        READS_C ? static_cast<Sum>(widen(*at)) : Sum(0),
                                        bias_at<BIAS>(p.bias, row, column + e), p));
        }
      }
    }
  }
}

// Boxes of 64 rows from shared memory to C, whose rows may begin anywhere: whole chunks of 16 bytes
// as they lie in C, each made of two in a box, and the elements before and behind them one by one.
// Every eighth row begins equally far before a chunk, so a thread stores the same part of each.
__device__ inline void store_rows_of(const Boxes& boxes, const Arguments& p, const BlockUnit& unit,
                                     int first_row, int first_column) {
  constexpr int elements = 16 / sizeof(C_TYPE), chunks = boxes_at_once * 8;
  constexpr int step = 8 * A_CLASSES, box_step = 8 * row_bytes;  // from a row to the next
  const int thread = threadIdx.x % 128;
  const int columns = min(end_of_columns(p, unit) - first_column, boxes_at_once * c_columns);
  const int filled = tail_columns > 0
                         ? min((unit.column + TILE_N - first_column) / elements, chunks)
                         : chunks;
  struct Rows {
    C_TYPE* to;
    int count, head, whole;  // elements before the first whole chunk; whole chunks
  };
  const auto rows_from = [&](int r) {
    const int row = row_of_c(unit, unit.row + first_row + r);
    C_TYPE* const to =
        static_cast<C_TYPE*>(p.c) + unit.batch * p.c_stride + row * p.c_leading + first_column;
    const auto at = reinterpret_cast<unsigned long long>(to) / sizeof(C_TYPE);
    const int head = static_cast<int>(-at % elements);
    return Rows{to, (p.m - row + step - 1) / step, head, max(columns - head, 0) / elements};
  };
  const auto chunk_at = [&](int r, int chunk) {
    return boxes[chunk / 8] + r * row_bytes + 16 * (chunk % 8 ^ r);
  };
  constexpr int lanes = chunks <= 8 ? 8 : chunks <= 16 ? 16 : 32;  // for a row
  // A thread stores every eighth row, eight of them; where there are two threads for these, half each.
  constexpr int sharers_of_rows = 128 / lanes > 8 ? 2 : 1, of_thread = 8 / sharers_of_rows;
  const int begin = sharers_of_rows > 1 ? thread / (8 * lanes) * of_thread : 0;
#pragma unroll
  for (int r = thread / lanes % 8; r < 8; r += 128 / lanes) {
    const Rows rows = rows_from(r);
    const int chunk = thread % lanes;
    if (chunk >= rows.whole) continue;
    const unsigned char* const low = chunk_at(r, chunk) + begin * box_step;
    const unsigned char* const high = chunk_at(r, min(chunk + 1, filled - 1)) + begin * box_step;
    C_TYPE* const to = rows.to + rows.head + chunk * elements + begin * step * p.c_leading;
    const int count = rows.count - begin;
#pragma unroll
    for (int first = 0; first < of_thread; first += 4) {
      uint4 values[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        values[i] = shifted<sizeof(C_TYPE)>(
            *reinterpret_cast<const uint4*>(low + (first + i) * box_step),
            *reinterpret_cast<const uint4*>(high + (first + i) * box_step),
            rows.head * sizeof(C_TYPE));
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        store_if(reinterpret_cast<uint4*>(to + (first + i) * step * p.c_leading), values[i],
                 first + i < count);
      }
    }
  }
  constexpr int ends = 2 * elements;
  if (thread >= 8 * ends) return;
  const int r = thread / ends, e = thread % ends;
  const Rows rows = rows_from(r);
  const int behind = rows.head + rows.whole * elements + e - elements;
  const int column = e < elements ? e : behind;
  if (e < elements ? e >= min(rows.head, columns) : behind >= columns) return;
  const unsigned char* const from =
      chunk_at(r, column / elements) + column % elements * sizeof(C_TYPE);
#pragma unroll
  for (int first = 0; first < 8; first += 4) {
    C_TYPE values[4];  // read before the first is stored, so that none waits for another
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      values[i] = *reinterpret_cast<const C_TYPE*>(from + (first + i) * box_step);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      store_if(rows.to + (first + i) * step * p.c_leading + column, values[i],
               first + i < rows.count);
    }
  }
}

// The row of this thread's sums of half `h` among the 64 rows of a product.
__device__ inline int row_of_lane(int h) {
  return 16 * (threadIdx.x % 128 / 32) + threadIdx.x % 32 / 4 + 8 * h;
}

// The bias of a consumer's part of a tile. It comes to registers while the tile is multiplied: a store
// would load it again for every few columns, and wait for it each time. That of columns is spread over
// a warp, as its lanes 4 i to 4 i + 3 have the columns of every eighth matrix of 8 columns.
struct TileBias {
  static constexpr bool of_rows = BIAS == bias_of_row && C_STORE != store_partial;
  static constexpr bool of_columns = BIAS == bias_of_column && C_STORE != store_partial;
  static constexpr int matrices_of_lane = (TILE_N + 63) / 64;
  float rows[of_rows ? products_of_consumer : 1][2];    // of row half h of a product
  float columns[of_columns ? matrices_of_lane : 1][2];  // of column pair e of this lane's matrices

  __device__ TileBias(const Arguments& p, const BlockUnit& unit, int rows_before) {
#pragma unroll
    for (int i = 0; of_rows && i < 2 * products_of_consumer; ++i) {
      const int row = row_of_c(unit, unit.row + rows_before + 64 * (i / 2) + row_of_lane(i % 2));
      rows[i / 2][i % 2] = row < p.m ? p.bias[row] : 0.0F;
    }
    const int first = threadIdx.x % 32 / 4 * 8 + threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; of_columns && i < 2 * matrices_of_lane; ++i) {
      const int column = unit.column + first + 64 * (i / 2) + i % 2;
      columns[i / 2][i % 2] = column < p.n ? p.bias[column] : 0.0F;
    }
  }
  // The bias of this lane's column pair e of matrix `matrix` of the tile; for all lanes of a warp. 0
  // outside of C, and where columns have none.
  __device__ float of_column(int matrix, int e) const {
    if (!of_columns) return 0.0F;
    return __shfl_sync(0xFFFFFFFF, columns[matrix / 8][e], matrix % 8 * 4 + threadIdx.x % 4);
  }
  // The same of row half `h` of the consumer's product number `product`, beside that of a column.
  __device__ float of_row(int product, int h, float of_column) const {
    return of_rows ? rows[product][h] : of_column;
  }
};

// A thread's elements of C as it was, where its rows begin anywhere: from the boxes, two matrices of 8
// columns at a time, so that registers suffice beside the sums; or from memory, all of a box before the
// first result is written, as a read behind a write would wait for it. Zeros outside of C there.
struct Addend {
  static constexpr int matrices = adds_elements ? c_columns / 8 : 2;
  Sum of[matrices][2][2];  // row half h, column pair e
  int first[2];  // of a row's first chunk on, the element in which this thread's columns begin

  // For the lot of rows `first_row` of the tile and column `first_column` on.
  __device__ void begin(const Arguments& p, const BlockUnit& unit, int first_row,
                        int first_column) {
    const C_TYPE* const c =
        static_cast<const C_TYPE*>(p.c) + unit.batch * p.c_stride + first_column;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = row_of_c(unit, unit.row + first_row + row_of_lane(h));
      first[h] = RowOfLot(c + row * p.c_leading).before + static_cast<int>(threadIdx.x) % 4 * 2;
    }
  }
  // From matrix `of_box` of box `box` of the lot on. Without a condition: a branch for each element
  // would take longer than all the rest. A matrix has the columns of a chunk, so that an element lies
  // in the chunk of the matrix's number or in the one behind it, in the same for all matrices.
  __device__ void take(const ConsumerBoxes& own, int box, int of_box) {
    constexpr int of_chunk = RowOfLot::of_chunk;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      int row = row_of_lane(h);
      asm volatile("" : "+r"(row));  // else the places of all chunks stay in registers
#pragma unroll
      for (int j = 0; j < matrices; ++j) {
        const int chunk = c_columns / of_chunk * box + of_box + j;
        const unsigned char* const here = own.place(row, chunk);
        const unsigned char* const behind = own.place(row, chunk + 1);
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int at = first[h] + e;
          const unsigned char* const of_element = at < of_chunk ? here : behind;
          of[j][h][e] = static_cast<Sum>(
              widen(reinterpret_cast<const C_TYPE*>(of_element)[at % of_chunk]));
        }
      }
    }
    __syncwarp();  // all have read: results are written over what earlier columns held
  }
  // The box whose first element in memory for this thread is at (row, column).
  __device__ void read(const Arguments& p, const BlockUnit& unit, int row, int column) {
    const int end = end_of_columns(p, unit);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int r = row_of_c(unit, row + 8 * h);
      const C_TYPE* const from =
          static_cast<const C_TYPE*>(p.c) + unit.batch * p.c_stride + r * p.c_leading;
#pragma unroll
      for (int j = 0; j < matrices; ++j) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int at = column + 8 * j + e;
          of[j][h][e] = r < p.m && at < end ? static_cast<Sum>(widen(from[at])) : Sum(0);
        }
      }
    }
    __syncwarp();  // lanes may have read different elements; they store together
  }
};

// Box `number` of the tile from this warp's sums, whose consumer begins at row `first_row`.
// `take(j)`: takes what the boxes held from matrix j on to `addend`.
template <typename Take>
__device__ inline void fill_box(unsigned char* box, const Sum (&sum)[TILE_N / 2], int number,
                                const Arguments& p, const BlockUnit& unit, int first_row,
                                const TileBias& bias, int product, Addend& addend,
                                const Take& take) {
  constexpr int matrices = c_columns / 8;  // 8 columns each
  const int first = number * matrices, top = unit.row + first_row + row_of_lane(0);
  const int left = unit.column + 8 * first + threadIdx.x % 4 * 2;
  if (adds_elements) addend.read(p, unit, top, left);
#pragma unroll
  for (int j = 0; j < matrices; j += 2) {
    if (8 * (first + j) >= TILE_N) break;
    if (adds_rows) take(j);
    Sum v[8] = {};  // two matrices: column pair e, row half h
    if (adds_boxes) read_chunks(v, box, j, is_tail(number), C_TYPE{});
    float of_columns[2][2];  // of both matrices' column pairs
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      of_columns[i / 2][i % 2] = bias.of_column(first + j + i / 2, i % 2);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int matrix = j + i / 4, h = i / 2 % 2, e = i % 2;
      const bool reads_rows = adds_rows || adds_elements;
      const Sum before = reads_rows ? addend.of[matrix % Addend::matrices][h][e] : v[i];
      v[i] = finished(sum[4 * (first + matrix) + 2 * h + e], before,
                      bias.of_row(product, h, of_columns[i / 4][e]), p);
    }
    write_chunks(box, j, v, is_tail(number), C_TYPE{});
  }
}

// 64 rows of sums to C through shared memory, box after box, by each warp for its 16 rows: warps
// wait for no other warp, and a box of shared memory is written again as soon as it has been read.
__device__ inline void store_by_warp(const Sum (&sum)[TILE_N / 2], Boxes& boxes, const Maps& maps,
                                     const Arguments& p, const BlockUnit& unit, int first_row,
                                     const TileBias& bias, int product) {
  const int warp = threadIdx.x % 128 / 32;
#pragma unroll
  for (int number = 0; number < boxes_of_tile; ++number) {
    const int column = unit.column + number * c_columns;
    unsigned char* const box = boxes[number % boxes_at_once];
    if (is_elected()) wait_until_read<boxes_at_once - 1>();
    __syncwarp();
    Addend none;
    fill_box(box, sum, number, p, unit, first_row, bias, product, none, [](int) {});
    publish_shared();
    __syncwarp();
    if (is_elected()) {
      if (column < p.n) {
        store_box<c_leaves_first>(map_of_box(maps, unit, number),
                                  box + warp * c_box_rows * row_bytes, column,
                                  unit.row + first_row + warp * c_box_rows, unit.batch);
      }
      // Also without a store: the wait above counts groups.
      commit_stores();
    }
  }
}

// The same, boxes_at_once * c_columns columns at a time, by all warps of the consumer; of its
// product number `product`.
__device__ inline void store_together(const Sum (&sum)[TILE_N / 2], ConsumerBoxes& own,
                                      const Maps& maps, const Arguments& p, const BlockUnit& unit,
                                      int first_row, const TileBias& bias, int product) {
#pragma unroll
  for (int first = 0; first < boxes_of_tile; first += boxes_at_once) {
    const int first_column = unit.column + first * c_columns;
    if (first_column >= p.n) break;
    const int lot = product * lots_of_product + first / boxes_at_once;
    if (!is_stored_here(own.consumer, lot)) continue;
    own.await();
    Addend addend;
    if (adds_rows) addend.begin(p, unit, first_row, first_column);
#pragma unroll
    for (int box = 0; box < boxes_at_once; ++box) {
      fill_box(own.boxes[box], sum, first + box, p, unit, first_row, bias, product, addend,
               [&](int j) { addend.take(own, box, j); });
    }
    if (C_STORE == store_boxed) publish_shared();
    synchronise_consumer(own.consumer);
    if (C_STORE == store_rows) {
      store_rows_of(own.boxes, p, unit, first_row, first_column);
    } else if (leads_consumer()) {
#pragma unroll
      for (int box = 0; box < boxes_at_once; ++box) {
        const int column = first_column + box * c_columns;
        if (column < p.n) {
          store_box<c_leaves_first>(map_of_box(maps, unit, first + box), own.boxes[box], column,
                                    unit.row + first_row, unit.batch);
        }
      }
      commit_stores();
    }
    own.fetch_from(maps, p, unit, first_row - 64 * product, lot + 1);
  }
}

// The two 8 x 8 matrices of a warp's rows and columns 8 j to 8 j + 7, transposed: lane l gives the
// address of what becomes row l % 8 of matrix l / 8.
__device__ inline void store_transposed_matrices(unsigned char* row, unsigned a, unsigned b) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(
                   shared_address(row)),
               "r"(a), "r"(b)
               : "memory");
}

// 64 rows of sums as 64 columns of C, through shared memory by the copy engine; of the consumer's
// product number `product`.
template <typename Short>
__device__ inline void store_transposed(const Sum (&sum)[TILE_N / 2], ConsumerBoxes& own,
                                        const Maps& maps, const Arguments& p,
                                        const BlockUnit& unit, int first_row,
                                        const TileBias& bias, int product, Short type) {
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
  constexpr int matrices = box_columns / 8;  // of a box
#pragma unroll
  for (int first = 0; first < boxes_of_tile; first += boxes_at_once) {
    if (unit.column + first * box_columns >= p.n) break;
    const int lot = product * lots_of_product + first / boxes_at_once;
    if (!is_stored_here(own.consumer, lot)) continue;
    own.await();
#pragma unroll
    for (int j = 0; j < boxes_at_once * matrices; ++j) {
      const int row_of_box = 8 * (j % matrices) + lane % 8, chunk = 2 * warp + lane / 8 % 2;
      unsigned char* const of_lane =
          own.boxes[j / matrices] + row_of_box * row_bytes + 16 * (chunk ^ lane % 8);
      const int of_sum = 4 * (first * matrices + j);
      const float of_columns[2] = {bias.of_column(first * matrices + j, 0),
                                   bias.of_column(first * matrices + j, 1)};
      unsigned pairs[2] = {};
      if (adds_boxes) load_transposed_matrices(pairs, of_lane);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float before[2];
        widen_pair(before[0], before[1], pairs[h], type);
        pairs[h] = pair_of(
            finished(sum[of_sum + 2 * h], before[0], bias.of_row(product, h, of_columns[0]), p),
            finished(sum[of_sum + 2 * h + 1], before[1], bias.of_row(product, h, of_columns[1]), p),
            type);
      }
      store_transposed_matrices(of_lane, pairs[0], pairs[1]);
    }
    publish_shared();
    synchronise_consumer(own.consumer);
    if (leads_consumer()) {
#pragma unroll
      for (int box = 0; box < boxes_at_once; ++box) {
        const int column = unit.column + (first + box) * box_columns;
        if (column < p.n) {
          store_box(maps.c[0], own.boxes[box], unit.row + first_row, column, unit.batch);
        }
      }
      commit_stores();
    }
    own.fetch_from(maps, p, unit, first_row - 64 * product, lot + 1);
  }
}

// Stores the consumer's sums of a tile; its rows begin at `rows_before` of the tile.
__device__ inline void store_tile(const Sum (&sum)[products_of_consumer][TILE_N / 2],
                                  ConsumerBoxes& own, const Maps& maps, const Arguments& p,
                                  const BlockUnit& unit, int rows_before, const TileBias& bias) {
#pragma unroll
  for (int i = 0; i < products_of_consumer; ++i) {
    const int first_row = rows_before + 64 * i;
    if (row_of_c(unit, unit.row + first_row) >= p.m) break;
    if constexpr (TRANSPOSED) {
      store_transposed(sum[i], own, maps, p, unit, first_row, bias, i, C_TYPE{});
    } else if (by_warp) {
      store_by_warp(sum[i], own.boxes, maps, p, unit, first_row, bias, i);
    } else if (through_shared) {
      store_together(sum[i], own, maps, p, unit, first_row, bias, i);
    } else {
      store_elements(sum[i], p, unit, first_row);
    }
  }
}
