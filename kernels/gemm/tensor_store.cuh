// How the sums of a tile become C, or the partial sums of a part of k.
#pragma once

#include "epilogue.cuh"
#include "tensor_tile.cuh"

using Boxes = unsigned char[boxes_at_once][c_box_bytes];

__device__ inline void synchronise_consumer(int consumer) {
  asm volatile("bar.sync %0, 128;" ::"r"(1 + consumer) : "memory");
}

// Sums straight to memory, from each thread's registers.
__device__ inline void store_elements(const float (&sum)[TILE_N / 2], const Arguments& p,
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
          store_with_epilogue<READS_C, ACTIVATION>(c + column + e, sum[4 * j + 2 * h + e], p.alpha,
                                                   p.beta, bias_at<BIAS>(p.bias, row, column + e));
        }
      }
    }
  }
}

// Two sums as neighbours of 16 bits, rounded as narrow() rounds.
__device__ inline unsigned pair_of(float low, float high, bfloat16) {
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
__device__ inline unsigned pair_of(float low, float high, float16) {
  unsigned pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

// Four 8 x 8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8.
__device__ inline void store_matrices(unsigned char* row, unsigned a, unsigned b, unsigned c,
                                      unsigned d) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)),
      "r"(a), "r"(b), "r"(c), "r"(d)
      : "memory");
}

// Boxes of 64 rows from shared memory to C, a row by a warp, in stores of 4 bytes where those are
// aligned: where 16-bit elements begin at an odd one, each word is made of two neighbours' halves.
__device__ inline void store_rows_of(const Boxes& boxes, const Arguments& p, const BlockUnit& unit,
                                     int first_row, int first_column) {
  constexpr int rows_of_warp = 16, at_once = 4;
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
  const int columns = min(p.n - first_column, boxes_at_once * c_columns);
#pragma unroll 1
  for (int first = 0; first < rows_of_warp; first += at_once) {
    unsigned words[at_once][boxes_at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int r = warp + 4 * (first + i);
#pragma unroll
      for (int box = 0; box < boxes_at_once; ++box) {
        words[i][box] = *reinterpret_cast<const unsigned*>(boxes[box] + r * row_bytes +
                                                           16 * (lane / 4 ^ r % 8) + lane % 4 * 4);
      }
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int row = row_of_c(unit, unit.row + first_row + warp + 4 * (first + i));
      if (row >= p.m) return;
      C_TYPE* const to =
          static_cast<C_TYPE*>(p.c) + unit.batch * p.c_stride + row * p.c_leading + first_column;
      const bool odd =
          sizeof(C_TYPE) == 2 && reinterpret_cast<unsigned long long>(to) / sizeof(C_TYPE) % 2;
      if (odd && lane == 0) {
        *reinterpret_cast<unsigned short*>(to) = static_cast<unsigned short>(words[i][0]);
      }
#pragma unroll
      for (int box = 0; box < boxes_at_once; ++box) {
        unsigned word = words[i][box];
        if (odd) {
          const unsigned last = box + 1 < boxes_at_once ? words[i][box + 1] : 0;
          const unsigned next = __shfl_sync(~0U, lane == 0 ? last : word, (lane + 1) % 32);
          word = __funnelshift_r(word, next, 16);
        }
        constexpr int elements = 4 / sizeof(C_TYPE);
        const int at = box * c_columns + lane * elements + odd;
        if (at + elements <= columns) {
          *reinterpret_cast<unsigned*>(to + at) = word;
        } else if (at < columns) {
          *reinterpret_cast<unsigned short*>(to + at) = static_cast<unsigned short>(word);
        }
      }
    }
  }
}

// Two matrices of 16 rows by 8 columns, chunks `chunk` and the next of the warp's 16 rows in a box.
template <typename Short>
__device__ inline void write_chunks(unsigned char* box, int chunk, const float (&v)[8],
                                    Short type) {
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
  const int row = 16 * warp + lane % 8 + 8 * (lane / 8 % 2);
  store_matrices(box + row * row_bytes + 16 * ((chunk + lane / 16) ^ row % 8),
                 pair_of(v[0], v[1], type), pair_of(v[2], v[3], type), pair_of(v[4], v[5], type),
                 pair_of(v[6], v[7], type));
}
// Of float32 a matrix is two chunks.
__device__ inline void write_chunks(unsigned char* box, int chunk, const float (&v)[8], float) {
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = 16 * warp + lane / 4 + 8 * (i % 2);
    const int at = 2 * (chunk + i / 2) + lane % 4 / 2;
    *reinterpret_cast<float2*>(box + row * row_bytes + 16 * (at ^ row % 8) + lane % 2 * 8) =
        make_float2(v[2 * i], v[2 * i + 1]);
  }
}

// What the sum at `row` of the class and `column` of C becomes there.
__device__ inline float finished(float sum, const Arguments& p, const BlockUnit& unit, int row,
                                 int column) {
  const int r = row_of_c(unit, row);
  const bool inside = r < p.m && column < p.n;
  return epilogue<ACTIVATION>(sum, p.alpha, 0.0F, 0.0F,
                              BIAS && inside ? bias_at<BIAS>(p.bias, r, column) : 0.0F);
}

// Box `number` of the tile from this warp's sums, whose consumer begins at row `first_row`.
__device__ inline void fill_box(unsigned char* box, const float (&sum)[TILE_N / 2], int number,
                                const Arguments& p, const BlockUnit& unit, int first_row) {
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
  constexpr int matrices = c_columns / 8;  // 8 columns each
#pragma unroll
  for (int j = 0; j < matrices; j += 2) {
    float v[8];  // two matrices: column pair e, row half h
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int matrix = number * matrices + j + i / 4, h = i / 2 % 2, e = i % 2;
      v[i] = finished(sum[4 * matrix + 2 * h + e], p, unit,
                      unit.row + first_row + 16 * warp + lane / 4 + 8 * h,
                      unit.column + 8 * matrix + lane % 4 * 2 + e);
    }
    write_chunks(box, j, v, C_TYPE{});
  }
}

// 64 rows of sums to C through shared memory, box after box, by each warp for its 16 rows: warps
// wait for nobody, and a box of shared memory is written again as soon as it has been read.
__device__ inline void store_by_warp(const float (&sum)[TILE_N / 2], Boxes& boxes, const Maps& maps,
                                     const Arguments& p, const BlockUnit& unit, int first_row) {
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int number = 0; number < boxes_of_tile; ++number) {
    const int column = unit.column + number * c_columns;
    unsigned char* const box = boxes[number % boxes_at_once];
    if (lane == 0) wait_until_read<boxes_at_once - 1>();
    __syncwarp();
    fill_box(box, sum, number, p, unit, first_row);
    publish_shared();
    __syncwarp();
    if (lane == 0) {
      if (column < p.n) {
        store_box<c_leaves_first>(maps.c[unit.row_class], box + warp * c_box_rows * row_bytes,
                                  column, unit.row + first_row + warp * c_box_rows, unit.batch);
      }
      // Also without a store: the wait above counts groups.
      commit_stores();
    }
  }
}

// The same, boxes_at_once * c_columns columns at a time, by all warps of the consumer.
__device__ inline void store_together(const float (&sum)[TILE_N / 2], Boxes& boxes,
                                      const Maps& maps, const Arguments& p, const BlockUnit& unit,
                                      int first_row, int consumer) {
  const int thread = threadIdx.x % 128;
#pragma unroll
  for (int first = 0; first < boxes_of_tile; first += boxes_at_once) {
    const int first_column = unit.column + first * c_columns;
    if (first_column >= p.n) break;
    // The boxes are free when the copy engine, or every warp, has read what they held.
    if (C_STORE == store_boxed && thread == 0) wait_until_read<0>();
    synchronise_consumer(consumer);
#pragma unroll
    for (int box = 0; box < boxes_at_once; ++box) {
      fill_box(boxes[box], sum, first + box, p, unit, first_row);
    }
    if (C_STORE == store_boxed) publish_shared();
    synchronise_consumer(consumer);
    if (C_STORE == store_rows) {
      store_rows_of(boxes, p, unit, first_row, first_column);
    } else if (thread == 0) {
#pragma unroll
      for (int box = 0; box < boxes_at_once; ++box) {
        const int column = first_column + box * c_columns;
        if (column < p.n) {
          store_box<c_leaves_first>(maps.c[unit.row_class], boxes[box], column,
                                    unit.row + first_row, unit.batch);
        }
      }
      commit_stores();
    }
  }
}

// 64 rows of sums to rows of C of one class, which begin equally far before a multiple of 16 bytes,
// by each warp for its 16 rows: all chunks of the tile but one leave through shared memory by the
// copy engine, what the tile has before and behind them from registers. Rows of the box are an odd
// number of chunks, so that eight of them lie in other banks.
template <typename Short>
__device__ inline void store_whole_chunks(const float (&sum)[TILE_N / 2], Boxes& boxes,
                                          const Maps& maps, const Arguments& p,
                                          const BlockUnit& unit, int first_row, Short type) {
  constexpr int columns = TILE_N - 8, pitch = 2 * columns;
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
  const int head = p.head[unit.row_class], row = unit.row + first_row + 16 * warp;
  unsigned char* const box = reinterpret_cast<unsigned char*>(boxes) + 16 * warp * pitch;
  const auto row_at = [&](int r) {
    return static_cast<unsigned short*>(p.c) + unit.batch * p.c_stride + r * p.c_leading;
  };
  if (lane == 0) wait_until_read<0>();
  __syncwarp();
#pragma unroll
  for (int j = 0; j < TILE_N / 8; ++j) {
    // Seen from the first whole chunk.
    const int column = 8 * j + lane % 4 * 2 - head;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int r = lane / 4 + 8 * h;
      const int of_c = row_of_c(unit, row + r), first = unit.column + head + column;
      const unsigned pair =
          pair_of(finished(sum[4 * j + 2 * h], p, unit, row + r, first),
                  finished(sum[4 * j + 2 * h + 1], p, unit, row + r, first + 1), type);
      unsigned char* const to = box + r * pitch + 2 * column;
      const bool at_edge = j == 0 || j + 1 == TILE_N / 8;
      if (head % 2 == 0 && (!at_edge || (column >= 0 && column < columns))) {
        *reinterpret_cast<unsigned*>(to) = pair;
        continue;
      }
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const auto half = static_cast<unsigned short>(pair >> 16 * e);
        if (!at_edge || (column + e >= 0 && column + e < columns)) {
          reinterpret_cast<unsigned short*>(to)[e] = half;
        } else if (of_c < p.m && first + e < p.n) {
          row_at(of_c)[first + e] = half;
        }
      }
    }
  }
  publish_shared();
  __syncwarp();
  if (lane == 0) {
    store_box(maps.c[unit.row_class], box, unit.column, row, unit.batch);
    commit_stores();
  }
  // The row's last chunk, if it is no whole one; the map ends before it.
  const int end = min(p.n - unit.column - head, columns);
  const int whole = max(p.n - (p.n - head) % 8 - unit.column - head, 0);
  const int of_c = row_of_c(unit, row + lane);
  if (lane < 16 && of_c < p.m) {
    for (int at = whole; at < end; ++at) {
      row_at(of_c)[unit.column + head + at] =
          reinterpret_cast<const unsigned short*>(box + lane * pitch)[at];
    }
  }
  __syncwarp();
}

// What the consumer's sums of a tile become; its rows begin at `rows_before` of the tile.
__device__ inline void store_tile(const float (&sum)[products_of_consumer][TILE_N / 2],
                                  Boxes& boxes, const Maps& maps, const Arguments& p,
                                  const BlockUnit& unit, int rows_before, int consumer) {
#pragma unroll
  for (int i = 0; i < products_of_consumer; ++i) {
    const int first_row = rows_before + 64 * i;
    if (row_of_c(unit, unit.row + first_row) >= p.m) break;
    if constexpr (C_STORE == store_chunks) {
      store_whole_chunks(sum[i], boxes, maps, p, unit, first_row, C_TYPE{});
    } else if (by_warp) {
      store_by_warp(sum[i], boxes, maps, p, unit, first_row);
    } else if (through_shared) {
      store_together(sum[i], boxes, maps, p, unit, first_row, consumer);
    } else {
      store_elements(sum[i], p, unit, first_row);
    }
  }
}
