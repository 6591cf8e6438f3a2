// The sums of a warp in small_products.cu by tensor cores, stage by stage.
//
// Constants: those of mma_multiply.cuh, and of the kernel BM x BN, WM x WN, DEPTH.
#pragma once

#include "mma_fragments.cuh"
#include "mma_multiply.cuh"

template <bool a_along_k, bool b_along_k>
class WarpSums {
  static constexpr int down = WM / 16, across = WN / 16;  // fragments of a warp
  static constexpr int inners = DEPTH / inner_steps;
  static constexpr int bytes_of_a = Tile<BM, a_along_k>::bytes;

 public:
  // The warp's sums begin at (row, column) of the tile.
  __device__ WarpSums(int row, int column) : rows_(row), columns_(column) {}

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < down; ++i) {
#pragma unroll
      for (int j = 0; j < 2 * across; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) sums_[i][j][e] = 0;
      }
    }
  }

  // `left`: steps of k from this stage on; of the stage, no more than hold these are multiplied.
  __device__ void add_stage(unsigned stage, int left = DEPTH) {
#pragma unroll
    for (int inner = 0; inner < inners; ++inner) {
      if (inner * inner_steps >= left) break;
      unsigned a[down][4], b[across][4];
#pragma unroll
      for (int i = 0; i < down; ++i) rows_.load(a[i], stage, inner, i);
#pragma unroll
      for (int j = 0; j < across; ++j) columns_.load(b[j], stage + bytes_of_a, inner, j);
#pragma unroll
      for (int i = 0; i < down; ++i) {
#pragma unroll
        for (int j = 0; j < 2 * across; ++j) {
          multiply(sums_[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
      }
    }
  }

  // Puts the sums of rows 16 * `lot` and on.
  template <typename Store>
  __device__ void put(Store& store, int lot) const {
    store.put(sums_[lot]);
  }
  // The sums of rows 16 * `lot` and on.
  __device__ auto& of_rows(int lot) const { return sums_[lot]; }

 private:
  Fragments<BM, a_along_k, false> rows_;
  Fragments<BN, b_along_k, true> columns_;
  SUM sums_[down][2 * across][4];
};
