// The tiles and parts of k that kernels/gemm/ffma_tiles.cu uses for a problem: a table of
// configurations with their measured rates, and a model.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "operations/gemm/operands/tensor_layout.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"
#include "operations/rung/kernel_plan.hpp"

namespace tilescope::operations {

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
  int phases_of_split = 0;  ///< steps of 32
  double cycles = 0.0;      ///< expected by the model
};

/// The plan for one tile and about `splits` parts (only as many as have work), with the sources
/// that take the fewest expected cycles.
FfmaPlan ffma_plan(const GemmProblem& problem, const DeviceProperties& device, const FfmaTile& tile,
                   int splits);

/// The plans of all tiles and all numbers of parts worth trying. Extents are at least 1.
std::vector<FfmaPlan> ffma_plan_candidates(const GemmProblem& problem,
                                           const DeviceProperties& device);

/// The plan with the fewest expected cycles.
FfmaPlan best_ffma_plan(const GemmProblem& problem, const DeviceProperties& device);

/// Whether rows of memory lie in the tiles' order: A's along m where its tiles are stored step
/// after step, else along k; B's along n.
bool ffma_a_lies_as_tile(const GemmProblem& problem, const FfmaTile& tile);
bool ffma_b_lies_as_tile(const GemmProblem& problem);

/// Dynamic shared memory of a block.
std::size_t ffma_shared_bytes(const FfmaPlan& plan);

/// The launch of the product, without the reduction.
Launch ffma_launch(const GemmProblem& problem, const FfmaPlan& plan);

/// The kernel's constants.
Defines ffma_constants(const GemmProblem& problem, const FfmaPlan& plan);

/// The compiler's options, as KernelRequest::extra_options.
std::vector<std::string> ffma_options();

}  // namespace tilescope::operations
