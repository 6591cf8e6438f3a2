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
    C_TYPE* const c =
        static_cast<C_TYPE*>(p.c) + unit.batch * p.c_stride + row * p.c_leading;
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

__device__ inline unsigned pair_of(float low, float high) {
  const C_TYPE a = narrow<C_TYPE>(low), b = narrow<C_TYPE>(high);
  return *reinterpret_cast<const unsigned short*>(&a) |
         static_cast<unsigned>(*reinterpret_cast<const unsigned short*>(&b)) << 16;
}

// Four 8 x 8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8.
__device__ inline void store_matrices(unsigned char* row, unsigned a, unsigned b, unsigned c,
                                      unsigned d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   shared_address(row)),
               "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}

// Boxes of 64 rows from shared memory to C, a row by a warp, in stores of 4 bytes wherever those are
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
        words[i][box] = *reinterpret_cast<const unsigned*>(
            boxes[box] + r * row_bytes + 16 * (lane / 4 ^ r % 8) + lane % 4 * 4);
      }
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int row = row_of_c(unit, unit.row + first_row + warp + 4 * (first + i));
      if (row >= p.m) return;
      C_TYPE* const to = static_cast<C_TYPE*>(p.c) + unit.batch * p.c_stride + row * p.c_leading +
                         first_column;
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

// 64 rows of sums to C through shared memory, boxes_at_once * c_columns columns at a time.
__device__ inline void store_through_shared(const float (&sum)[TILE_N / 2], Boxes& boxes,
                                            const Maps& maps, const Arguments& p,
                                            const BlockUnit& unit, int first_row, int consumer) {
  const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
  const auto finished = [&](float value, int row, int column) {
    const int r = row_of_c(unit, unit.row + first_row + row), c = unit.column + column;
    const bool inside = r < p.m && c < p.n;
    return epilogue<ACTIVATION>(value, p.alpha, 0.0F, 0.0F,
                                BIAS && inside ? bias_at<BIAS>(p.bias, r, c) : 0.0F);
  };
  constexpr int matrices = c_columns / 8;  // 8 columns each
#pragma unroll
  for (int first = 0; first < boxes_of_tile; first += boxes_at_once) {
    const int first_column = unit.column + first * c_columns;
    if (first_column >= p.n) break;
    // The boxes are free when the copy engine, or every warp, has read what they held.
    if (C_STORE == store_boxed && thread == 0) wait_until_read<0>();
    synchronise_consumer(consumer);
#pragma unroll
    for (int box = 0; box < boxes_at_once; ++box) {
#pragma unroll
      for (int j = 0; j < matrices; j += 2) {
        float v[8];  // two matrices: column pair e, row half h
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          const int matrix = (first + box) * matrices + j + i / 4, h = i / 2 % 2, e = i % 2;
          v[i] = finished(sum[4 * matrix + 2 * h + e], 16 * warp + lane / 4 + 8 * h,
                          8 * matrix + lane % 4 * 2 + e);
        }
        if (sizeof(C_TYPE) == 2) {
          const int row = 16 * warp + lane % 8 + 8 * (lane / 8 % 2), chunk = j + lane / 16;
          store_matrices(boxes[box] + row * row_bytes + 16 * (chunk ^ row % 8),
                         pair_of(v[0], v[1]), pair_of(v[2], v[3]), pair_of(v[4], v[5]),
                         pair_of(v[6], v[7]));
        } else {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int row = 16 * warp + lane / 4 + 8 * (i % 2);
            const int chunk = 2 * (j + i / 2) + lane % 4 / 2;
            *reinterpret_cast<float2*>(boxes[box] + row * row_bytes + 16 * (chunk ^ row % 8) +
                                       lane % 2 * 8) = make_float2(v[2 * i], v[2 * i + 1]);
          }
        }
      }
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
          store_box(maps.c[unit.row_class], boxes[box], column, unit.row + first_row, unit.batch);
        }
      }
      commit_stores();
    }
  }
}
