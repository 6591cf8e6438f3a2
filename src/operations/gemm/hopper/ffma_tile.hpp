// The tiles of kernels/gemm/ffma_tiles.cu: a table of configurations with their measured rates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

constexpr int ffma_steps = 32;  ///< steps of k in one buffer

/// One set of the kernel's constants.
struct FfmaTile {
  int m, n;                       ///< elements of C per block
  int thread_m, thread_n;         ///< per thread
  int lanes_down;                 ///< lanes of a warp along m
  int slices;                     ///< parts of each buffer's steps, a set of warps for each
  int quads_at_once;              ///< fours of steps that the loop multiplies at once
  bool by_steps;                  ///< A's tile is stored step after step, else row after row
  std::array<double, 3> rates{};  ///< FFMA per cycle and SM with 1, 2, 3 blocks on it
  int blocks_per_sm() const { return rates[2] > 0 ? 3 : rates[1] > 0 ? 2 : 1; }
  int threads() const;       ///< including the copying warpgroup
  std::string text() const;  ///< "128x256"
};

/// All configurations worth keeping.
std::span<const FfmaTile> ffma_tiles();

/// The way of an operand's tiles into shared memory. All but the last have the kernel's values.
enum class FfmaSource {
  boxes,             ///< by the copy engine: rows lie in the tile's order, in whole 16-byte chunks
  words,             ///< word by word: rows lie in the tile's order
  transposed_words,  ///< word by word: rows lie in the other direction
  paired_boxes,      ///< B by boxes: rows lie in the tile's order, 8 bytes more than chunks apart
  copy               ///< boxes of a copy that an earlier kernel makes
};

struct FfmaPlan {
  FfmaTile tile{};
  FfmaSource a = FfmaSource::boxes, b = FfmaSource::boxes;
  int stages = 0;           ///< buffers of the pipeline
  int splits = 1;           ///< parts of k, added up by a second kernel in order
  int phases_of_split = 0;  ///< fills of a buffer
  double cycles = 0.0;      ///< expected
};

/// Tiles of C in all matrices of a batch.
std::int64_t ffma_tiles_of(const GemmProblem& problem, const FfmaTile& tile);

/// Whether rows of memory lie in the tiles' order: A's along m where its tiles are stored step
/// after step, else along k; B's along n.
bool ffma_a_lies_as_tile(const GemmProblem& problem, const FfmaTile& tile);
bool ffma_b_lies_as_tile(const GemmProblem& problem);

/// Dynamic shared memory of a block.
std::size_t ffma_shared_bytes(const FfmaPlan& plan);

}  // namespace tilescope::operations
