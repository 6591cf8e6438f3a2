// C as it was, where its multiple is added: the copy engine brings it to the boxes that the results
// leave from, while the tile is multiplied.
#pragma once

#include "epilogue.cuh"
#include "tensor_tile.cuh"

using Boxes = unsigned char[boxes_at_once][c_box_bytes];

__device__ inline void synchronise_consumer(int consumer) {
  asm volatile("bar.sync %0, 128;" ::"r"(1 + consumer) : "memory");
}

// True in one thread of a consumer, always the same.
__device__ inline bool leads_consumer() { return threadIdx.x % 128 < 32 && is_elected(); }

// The boxes of one consumer. They hold a lot of C after the other: some columns of 64 rows.
struct ConsumerBoxes {
  Boxes& boxes;
  Barrier& arrived;  // what C held, where it is added
  int consumer;
  unsigned parity = 0;  // of the next lot's arrival

  // Fetches the lot of rows `first_row` and box `first` of the tile on. All threads call it, and
  // none uses the boxes any more.
  __device__ void fetch(const Maps& maps, const BlockUnit& unit, int first_row, int first) {
    if (!leads_consumer()) return;
    wait_until_read<0>();
    arrive_expecting(arrived, boxes_at_once * c_box_bytes);
#pragma unroll
    for (int box = 0; box < boxes_at_once; ++box) {
      const int column = unit.column + (first + box) * box_columns, row = unit.row + first_row;
      load_box(boxes[box], maps.c[unit.row_class], arrived, TRANSPOSED ? row : column,
               TRANSPOSED ? column : row, unit.batch);
    }
  }

  // The first lot of a tile, if the consumer has elements of C there.
  __device__ void fetch_first(const Maps& maps, const Arguments& p, const BlockUnit& unit,
                              int rows_before) {
    if (adds_boxes && row_of_c(unit, unit.row + rows_before) < p.m && unit.column < p.n) {
      fetch(maps, unit, rows_before, 0);
    }
  }

  // The lot behind the one of product `product` and box `first`.
  __device__ void fetch_next(const Maps& maps, const Arguments& p, const BlockUnit& unit,
                             int first_row, int product, int first) {
    if (!adds_boxes) return;
    const int next = first + boxes_at_once;
    if (next < boxes_of_tile && unit.column + next * box_columns < p.n) {
      fetch(maps, unit, first_row, next);
    } else if (product + 1 < products_of_consumer &&
               row_of_c(unit, unit.row + first_row + 64) < p.m) {
      fetch(maps, unit, first_row + 64, 0);
    }
  }

  // Until the boxes may be written: they are empty, or have what C held.
  __device__ void await() {
    if (adds_boxes) {
      wait(arrived, parity);
      parity ^= 1;
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
