// C as it was, where its multiple is added: the copy engine brings it to the boxes that the results
// leave from, while the tile is multiplied. Where rows of C begin anywhere, warps copy the chunks that
// hold their rows.
#pragma once

#include "async_copy.cuh"
#include "epilogue.cuh"
#include "tensor_tile.cuh"

using Boxes = unsigned char[boxes_at_once][c_box_bytes];

__device__ inline void synchronise_consumer(int consumer) {
  asm volatile("bar.sync %0, 128;" ::"r"(1 + consumer) : "memory");
}

// True in one thread of a consumer, always the same.
__device__ inline bool leads_consumer() { return threadIdx.x % 128 < 32 && is_elected(); }

// Boxes that a consumer stores at once are a lot: of its parts of 64 rows, one after the other.
constexpr int lots_of_product = boxes_of_tile / boxes_at_once;
constexpr int lots_of_consumer = products_of_consumer * lots_of_product;

// Whether this block stores lot `lot` of a consumer: layers take the lots of a tile in turn.
__device__ inline bool is_stored_here(int consumer, int lot) {
  return layers == 1 || (consumer * lots_of_consumer + lot) % layers == layer_of_block();
}

// For each row of a lot the chunk behind its boxes, where rows of C are added that begin anywhere.
using Tails = unsigned char[adds_rows ? 64 : 1][16];

// A row of a lot of C, whose first element is at `first`.
struct RowOfLot {
  static constexpr int of_chunk = 16 / static_cast<int>(sizeof(C_TYPE));  // elements

  const C_TYPE* chunk;  // the aligned one that this lies in
  int before;           // elements of the chunk before it

  __device__ explicit RowOfLot(const C_TYPE* first)
      : before(static_cast<int>(reinterpret_cast<unsigned long long>(first) % 16 / sizeof(C_TYPE))) {
    chunk = first - before;
  }
};

// The boxes of one consumer. They hold a lot of C after the other: some columns of 64 rows.
struct ConsumerBoxes {
  Boxes& boxes;
  Tails& tails;
  Barrier& arrived;  // what C held, where it is added
  int consumer;
  unsigned parity = 0;  // of the next lot's arrival

  // Where chunk `chunk` of row `row` of a lot lies.
  __device__ unsigned char* place(int row, int chunk) const {
    return chunk < 8 * boxes_at_once ? boxes[chunk / 8] + row * row_bytes + 16 * (chunk % 8 ^ row % 8)
                                     : tails[row];
  }

  // Fills the boxes with the aligned chunks that hold a lot, zeros outside of C: each warp 16 rows.
  // Chunks that are the lot's alone are copied asynchronously; for those in which a row begins or
  // ends, a lane reads the row's elements. Neither branches: it is code that runs once.
  __device__ void fetch_rows(const Arguments& p, const BlockUnit& unit, int first_row, int first) {
    constexpr int of_chunk = RowOfLot::of_chunk, chunks = 8 * boxes_at_once;
    constexpr int lanes = chunks <= 8 ? 8 : chunks <= 16 ? 16 : 32;  // for a row
    constexpr int rows = 32 / lanes;                                 // at once
    const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
    const int column = unit.column + first * c_columns;
    const int columns = min(end_of_columns(p, unit) - column, boxes_at_once * c_columns);
    const int top = unit.row + first_row + 16 * warp;
    const C_TYPE* const c = static_cast<const C_TYPE*>(p.c) + unit.batch * p.c_stride +
                            row_of_c(unit, top) * p.c_leading + column;
    const long long pitch = A_CLASSES * p.c_leading;
    const int rows_left = (p.m - row_of_c(unit, top) + A_CLASSES - 1) / A_CLASSES;
    synchronise_consumer(consumer);  // all have read what the boxes held

    const int of_end = lane / 2;
    const RowOfLot end(c + of_end * pitch);
    const int chunk = lane % 2 * ((end.before + columns) / of_chunk);  // in which it begins or ends
    const int begin = chunk * of_chunk - end.before;
    const bool is_row = of_end < rows_left;
    union {
      uint4 all = {};
      C_TYPE each[of_chunk];
    } elements;
#pragma unroll
    for (int e = 0; e < of_chunk; ++e) {
      if (is_row && begin + e >= 0 && begin + e < columns) {
        elements.each[e] = end.chunk[chunk * of_chunk + e];
      }
    }
#pragma unroll
    for (int i = 0; i < 16 / rows; ++i) {
      const int r = lane / lanes + rows * i, of_row = lane % lanes;
      const RowOfLot row(c + r * pitch);
      const int at = of_row * of_chunk - row.before;
      const bool is_whole = r < rows_left && at >= 0 && at + of_chunk <= columns;
      const bool is_end = r < rows_left && !is_whole && at + of_chunk > 0 && at < columns;
      if (of_row < chunks && !is_end) {
        copy_async<16>(shared_address(place(16 * warp + r, of_row)), row.chunk + of_row * of_chunk,
                       is_whole);
      }
    }
    // Nothing of the row lies in a chunk behind it, and one chunk may have both ends.
    const bool is_end = is_row && (begin < 0 || begin + of_chunk > columns) && begin < columns &&
                        (lane % 2 == 0 || chunk > 0);
    if (is_end || (lane % 2 == 1 && chunk == chunks)) {
      *reinterpret_cast<uint4*>(place(16 * warp + of_end, chunk)) = elements.all;
    }
    if (lane % 2 == 1 && chunk < chunks) *reinterpret_cast<uint4*>(tails[16 * warp + of_end]) = {};
    commit_copies();
  }

  // Fetches the lot of rows `first_row` and box `first` of the tile on. All threads call it, and
  // none uses the boxes any more, unless threads fill them.
  __device__ void fetch(const Maps& maps, const Arguments& p, const BlockUnit& unit, int first_row,
                        int first) {
    if (adds_rows) {
      fetch_rows(p, unit, first_row, first);
      return;
    }
    if (!leads_consumer()) return;
    wait_until_read<0>();
    const bool has_tail = is_tail(first + boxes_at_once - 1);
    arrive_expecting(arrived, boxes_at_once * c_box_bytes -
                                  (has_tail ? c_box_bytes - 64 * tail_row_bytes : 0));
#pragma unroll
    for (int box = 0; box < boxes_at_once; ++box) {
      const int column = unit.column + (first + box) * box_columns, row = unit.row + first_row;
      load_box(boxes[box], map_of_box(maps, unit, first + box), arrived, TRANSPOSED ? row : column,
               TRANSPOSED ? column : row, unit.batch);
    }
  }

  // The first lot from number `lot` of the consumer's on that this block stores and that has elements
  // of C, if there is one. The consumer's rows begin at `rows_before` of the tile.
  __device__ void fetch_from(const Maps& maps, const Arguments& p, const BlockUnit& unit,
                             int rows_before, int lot) {
    for (; adds_fetched && lot < lots_of_consumer; ++lot) {
      const int row = rows_before + lot / lots_of_product * 64;
      const int box = lot % lots_of_product * boxes_at_once;
      if (is_stored_here(consumer, lot) && row_of_c(unit, unit.row + row) < p.m &&
          unit.column + box * box_columns < p.n) {
        fetch(maps, p, unit, row, box);
        return;
      }
    }
  }

  // Until the boxes may be written: they are empty, or have what C held.
  __device__ void await() {
    if (adds_boxes) {
      wait(arrived, parity);
      parity ^= 1;
      return;
    }
    if (adds_rows) {
      wait_for_copies<0>();
      __syncwarp();  // the others' have arrived
      return;
    }
    // The copy engine, or every warp, has read them.
    if (C_STORE == store_boxed && leads_consumer()) wait_until_read<0>();
    synchronise_consumer(consumer);
  }
};

// Two neighbours of 16 bits, widened.
__device__ inline void widen_pair(float& low, float& high, unsigned pair, bfloat16) {
  low = __uint_as_float(pair << 16);
  high = __uint_as_float(pair & 0xFFFF0000U);
}
__device__ inline void widen_pair(float& low, float& high, unsigned pair, float16) {
  low = widen(float16{static_cast<unsigned short>(pair)});
  high = widen(float16{static_cast<unsigned short>(pair >> 16)});
}

// Four 8 x 8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8.
__device__ inline void load_matrices(unsigned (&to)[4], const unsigned char* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}
// Two, transposed.
__device__ inline void load_transposed_matrices(unsigned (&to)[2], const unsigned char* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(to[0]), "=r"(to[1])
               : "r"(shared_address(row))
               : "memory");
}
