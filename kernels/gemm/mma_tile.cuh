// The sums of one tile of C by mma.sync: copies into stages of shared memory, fragments, products.
//
// STAGES - 1 stages of tiles are on their way while one is multiplied; copies that reach beyond an
// operand fill up with zeros. A GPU of compute capability 7.5 has no cp.async: there chunks pass
// through registers. Offsets are 64-bit: the matrices may have more than 2^31 elements.
//
// Elements of 8 bits lie along k: ldmatrix transposes pairs of bytes only.
//
// Constants: ELEMENT, the type of A and B; those of mma_multiply.cuh; BM x BN: the tile of C of a block,
// WM x WN of a warp; DEPTH: steps of k in a stage; STAGES; SUM: the type of sums, float32 or int32.
#pragma once

#include "mma_fragments.cuh"
#include "mma_multiply.cuh"

using Sum = SUM;

constexpr int threads = 32 * (BM / WM) * (BN / WN);
constexpr int down = WM / 16, across = WN / 16;  // fragments of a warp
constexpr int inners = DEPTH / inner_steps;
constexpr int refills = inners - 1;  // pieces in which a stage is copied
static_assert(WN % 32 == 0, "lanes store rows of 32 columns");
static_assert(inners % 2 == 0, "buffers alternate");

// The products of a warp, stage after stage. Fragments are loaded into one of two buffers while the
// products of the other run.
template <bool a_along_k, bool b_along_k>
struct WarpProducts {
  static constexpr int bytes_of_a = Tile<BM, a_along_k>::bytes;

  Fragments<BM, a_along_k, false> rows;
  Fragments<BN, b_along_k, true> columns;
  unsigned a[2][down][4], b[2][across][4];
  Sum sums[down][2 * across][4] = {};

  __device__ WarpProducts(int row, int column) : rows(row), columns(column) {}

  // Share `part` of `down` of what the products of `inner` need.
  __device__ void load(unsigned stage, int inner, int part) {
    rows.load(a[inner % 2][part], stage, inner, part);
#pragma unroll
    for (int j = 0; j < across; ++j) {
      if (j * down / across == part) {
        columns.load(b[inner % 2][j], stage + bytes_of_a, inner, j);
      }
    }
  }

  // The products of one stage. `advance`, called when this stage has been read, returns the next;
  // `refill` is called before that, with 0, 1, ... after the products of each 16 rows.
  template <typename Refill, typename Advance>
  __device__ void multiply_stage(unsigned stage, const Refill& refill, const Advance& advance) {
#pragma unroll
    for (int inner = 0; inner < inners; ++inner) {
      if (inner + 1 == inners) stage = advance();
#pragma unroll
      for (int i = 0; i < down; ++i) {
        load(stage, (inner + 1) % inners, i);
        // There and back, so that a product shares an operand with the one before.
#pragma unroll
        for (int j = 0; j < 2 * across; ++j) {
          const int column = i % 2 == 0 ? j : 2 * across - 1 - j;
          const unsigned(&halves)[4] = b[inner % 2][column / 2];
          multiply(sums[i][column], a[inner % 2][i], halves[column % 2 * 2],
                   halves[column % 2 * 2 + 1]);
        }
        if (i == 0 && inner < refills) refill(inner);
      }
    }
  }
};

// The place of a warp's sums in the tile.
__device__ inline int first_row_of_warp() { return threadIdx.x / 32 / (BN / WN) * WM; }
__device__ inline int first_column_of_warp() { return threadIdx.x / 32 % (BN / WN) * WN; }

// Adds the products of k steps to a warp's sums. A and B begin at the first step; the tile begins at
// (row, column) of C, which is m x n. `memory`: STAGES stages, which all have read at the end.
template <int a_rows_by, int b_rows_by, bool a_along_k, bool b_along_k>
__device__ inline void multiply_tile(WarpProducts<a_along_k, b_along_k>& products,
                                     const ELEMENT* A, const ELEMENT* B, int m, int n, int k,
                                     long long a_leading, long long b_leading, int row, int column,
                                     unsigned char* memory) {
  using TileA = Tile<BM, a_along_k>;
  using Stages = Stage<a_along_k, b_along_k, a_rows_by, b_rows_by>;
  constexpr int stage_bytes = Stages::bytes;
  const unsigned first_stage = shared_address(memory);
  const unsigned end = first_stage + STAGES * stage_bytes;
  const auto after = [&](unsigned stage) {
    return stage + stage_bytes == end ? first_stage : stage + stage_bytes;
  };
  const auto before = [&](unsigned stage) {
    return stage == first_stage ? end - stage_bytes : stage - stage_bytes;
  };
  Copier<BM, a_along_k, a_rows_by, threads> copy_a(A, a_leading, row, m, Stages::first_a_end);
  Copier<BN, b_along_k, b_rows_by, threads> copy_b(B, b_leading, column, n, Stages::first_b_end);
  int left = k;  // of it, from the next stage to copy
  // Copies are spread over the products, so that these need not wait until all have been issued.
  // The stage behind the last one is filled with zeros, since its first fragments are loaded. Every
  // stage closes a group, even without copies, so that the count of groups gives their age.
  const auto refill = [&](int piece, unsigned free_stage) {
    constexpr int of_a = decltype(copy_a)::copies, all = of_a + decltype(copy_b)::copies;
    if (left > -DEPTH) {
      if (piece == 0) {
        copy_a.begin(left);
        copy_b.begin(left);
      }
#pragma unroll
      for (int i = piece * all / refills; i < (piece + 1) * all / refills; ++i) {
        if (i < of_a) {
          copy_a.copy(free_stage, i);
        } else {
          copy_b.copy(free_stage + TileA::bytes, i - of_a);
        }
      }
      if (piece + 1 == refills) {
        copy_a.end(free_stage);
        copy_b.end(free_stage + TileA::bytes);
        copy_a.advance();
        copy_b.advance();
      }
    }
    if (piece + 1 < refills) return;
    commit_copies();
    left -= DEPTH;
  };
  for (int s = 0; s < STAGES - 1; ++s) {
#pragma unroll
    for (int piece = 0; piece < refills; ++piece) refill(piece, first_stage + s * stage_bytes);
  }

  const auto wait_for = [&](unsigned stage) {
    wait_for_copies<STAGES - 2>();
    copy_a.settle(stage, copy_a.skipped());
    copy_b.settle(stage + TileA::bytes, copy_b.skipped());
    __syncthreads();  // all see this stage, and all have read the one before
    return stage;
  };
  unsigned stage = wait_for(first_stage);
#pragma unroll
  for (int part = 0; part < down; ++part) products.load(stage, 0, part);
  // Until the last stage has been multiplied, as many behind the one to copy as are on their way.
#pragma unroll 1
  while (left > -(STAGES - 1) * DEPTH) {
    products.multiply_stage(
        stage, [&](int piece) { refill(piece, before(stage)); },
        [&] { return stage = wait_for(after(stage)); });
  }
  wait_for_copies<0>();
  __syncthreads();  // all have read the stages
}
