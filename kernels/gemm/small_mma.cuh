// The sums of a warp in small_products.cu and short_k_mma.cu by tensor cores, stage by stage.
//
// Constants: those of mma_multiply.cuh, and of the kernel BM x BN, WM x WN, DEPTH.
#pragma once

#include "mma_fragments.cuh"
#include "mma_multiply.cuh"

// `reads_ahead`: whether fragments are loaded while the products before them run, which takes twice the
// registers for them.
template <bool a_along_k, bool b_along_k, bool reads_ahead = false>
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

  // `left`: steps of k from this stage on. Of the stage, no more than hold these are multiplied, and
  // what lies behind them counts as zeros.
  __device__ void add_stage(unsigned stage, int left = DEPTH) {
    Operands next;
    if (reads_ahead) load(next, stage, 0);
#pragma unroll
    for (int inner = 0; inner < inners; ++inner) {
      if ((inner + 1) * inner_steps > left) break;
      if (!reads_ahead) load(next, stage, inner);
      const Operands now = next;
      if (reads_ahead && inner + 1 < inners) load(next, stage, inner + 1);
      multiply_fragments(now);
    }
    const int behind = left % inner_steps;
    if (left < DEPTH && behind > 0) {
      if (!reads_ahead) load(next, stage, left / inner_steps);
      clear_behind(next, behind);
      multiply_fragments(next);
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
  struct Operands {
    unsigned a[down][4], b[across][4];
  };

  // The `inner`-th fragments of a stage.
  __device__ void load(Operands& to, unsigned stage, int inner) const {
#pragma unroll
    for (int i = 0; i < down; ++i) rows_.load(to.a[i], stage, inner, i);
#pragma unroll
    for (int j = 0; j < across; ++j) columns_.load(to.b[j], stage + bytes_of_a, inner, j);
  }
  // Sets all but their first `steps` of k to zero.
  __device__ static void clear_behind(Operands& of, int steps) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const unsigned kept = first_steps(steps - half * per_chunk);
#pragma unroll
      for (int x = 0; x < 2; ++x) {
#pragma unroll
        for (int i = 0; i < down; ++i) of.a[i][2 * half + x] &= kept;
#pragma unroll
        for (int j = 0; j < across; ++j) of.b[j][2 * x + half] &= kept;
      }
    }
  }
  __device__ void multiply_fragments(const Operands& of) {
#pragma unroll
    for (int i = 0; i < down; ++i) {
#pragma unroll
      for (int j = 0; j < 2 * across; ++j) {
        multiply(sums_[i][j], of.a[i], of.b[j / 2][j % 2 * 2], of.b[j / 2][j % 2 * 2 + 1]);
      }
    }
  }
  // The bits of this lane's words that are of the first `steps` of k in half of a fragment.
  __device__ static unsigned first_steps(int steps) {
    constexpr int bits = 8 * sizeof(ELEMENT), of_word = 32 / bits;
    const int own = steps - static_cast<int>(threadIdx.x) % 4 * of_word;
    return own >= of_word ? ~0U : own <= 0 ? 0U : (1U << own * bits % 32) - 1U;
  }

  Fragments<BM, a_along_k, false> rows_;
  Fragments<BN, b_along_k, true> columns_;
  SUM sums_[down][2 * across][4];
};
