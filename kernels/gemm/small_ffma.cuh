// The sums of a warp in small_products.cu by FFMA, stage by stage.
//
// Four lanes lie down and eight across, each with WM / 4 x WN / 8 sums. Shared memory is read 16
// bytes at a time, four steps of k of one row (or column) where the operand lies along k, else four
// of them of one step: the rows that lanes read together lie in different banks either way.
//
// Constants: of the kernel BM x BN, WM x WN, DEPTH.
#pragma once

#include "mma_fragments.cuh"
#include "shared_words.cuh"

// The share of a lane in `count` rows (or columns) of a warp, in a tile of `width`: of `lanes` lanes
// it has number `lane`.
template <int width, bool along_k, int lanes, int count>
class LaneShare {
  using Tiles = Tile<width, along_k>;

 public:
  static constexpr int at_once = count < 4 ? count : 4;  // neighbours of a lane, not along k
  static_assert(lanes * count % 8 == 0, "lanes repeat as exchanges do");

  // `start`: the warp's first row in the tile, a multiple of 16.
  __device__ LaneShare(int start, int lane) : start_(start), lane_(lane) {}

  // The row of the lane's i-th element in the warp.
  __device__ int row_of(int i) const {
    return along_k ? lane_ + lanes * i : at_once * (lane_ + lanes * (i / at_once)) + i % at_once;
  }

  // Elements of steps `step` to `step` + 3: [i][s].
  __device__ void load(float (&to)[count][4], unsigned tile, int step) const {
    if constexpr (along_k) {
#pragma unroll
      for (int i = 0; i < count; ++i) {
        const int row = start_ + row_of(i);
        load_words<4>(to[i], tile + Tiles::place(row, step / per_chunk));
      }
    } else {
#pragma unroll
      for (int s = 0; s < 4; ++s) {
#pragma unroll
        for (int i = 0; i < count; i += at_once) {
          const int x = start_ + row_of(i);
          const unsigned at = tile + Tiles::place(step + s, x / per_chunk) + x % per_chunk * 4;
          float words[at_once];
          load_words<at_once>(words, at);
#pragma unroll
          for (int of = 0; of < at_once; ++of) to[i + of][s] = words[of];
        }
      }
    }
  }

 private:
  int start_, lane_;
};

template <bool a_along_k, bool b_along_k>
class WarpSums {
  static constexpr int lanes_down = 4, lanes_across = 8;
  static constexpr int down = WM / lanes_down, across = WN / lanes_across;
  static constexpr int bytes_of_a = Tile<BM, a_along_k>::bytes;
  using Rows = LaneShare<BM, a_along_k, lanes_down, down>;
  using Columns = LaneShare<BN, b_along_k, lanes_across, across>;
  static_assert(down % 4 == 0, "a lane has four of each 16 rows");

 public:
  // The warp's sums begin at (row, column) of the tile.
  __device__ WarpSums(int row, int column)
      : rows_(row, threadIdx.x % 32 / lanes_across),
        columns_(column, threadIdx.x % 32 % lanes_across) {}

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < down; ++i) {
#pragma unroll
      for (int j = 0; j < across; ++j) sums_[i][j] = 0.0F;
    }
  }

  __device__ void add_stage(unsigned stage) {
#pragma unroll
    for (int step = 0; step < DEPTH; step += 4) {
      float a[down][4], b[across][4];
      rows_.load(a, stage, step);
      columns_.load(b, stage + bytes_of_a, step);
#pragma unroll
      for (int s = 0; s < 4; ++s) {
#pragma unroll
        for (int i = 0; i < down; ++i) {
#pragma unroll
          for (int j = 0; j < across; ++j) sums_[i][j] = fmaf(a[i][s], b[j][s], sums_[i][j]);
        }
      }
    }
  }

  // Puts the sums of rows 16 * `lot` and on.
  template <typename Store>
  __device__ void put(Store& store, int lot) const {
    __syncwarp();
#pragma unroll
    for (int i = 0; i < down; ++i) {
      if (i / 4 != lot) continue;
      float* const row = store.rows[rows_.row_of(i) % 16];
#pragma unroll
      for (int j = 0; j < across; ++j) row[columns_.row_of(j)] = sums_[i][j];
    }
    __syncwarp();
  }

 private:
  Rows rows_;
  Columns columns_;
  float sums_[down][across];
};
