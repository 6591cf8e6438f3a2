// The tiles of kernels/gemm/short_k.cu and the model of their time.
#pragma once

#include <cstdint>
#include <span>

#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

/// How a block computes its tile of C: `warps_down` x `warps_across` warps of 4 x 8 lanes, each
/// with `thread_m` x `thread_n` sums. `slices` groups of such warps share the `depth` steps of k of
/// each of `stages` buffers.
struct ShortKTile {
  int thread_m = 0, thread_n = 0;
  int warps_down = 0, warps_across = 0;
  int slices = 1;
  int depth = 0, stages = 0;
  /// Microseconds on an H200: of a block that has an SM to itself, and for each step of k; of an SM
  /// for each of its blocks, and for each step of theirs, without the copies.
  double first = 0.0, of_k = 0.0;
  double own = 0.0, own_of_k = 0.0;

  int rows() const { return 4 * thread_m * warps_down; }
  int columns() const { return 8 * thread_n * warps_across; }
  int threads() const { return 32 * warps_down * warps_across * slices; }
};

/// A tile, and the parts into which k is cut so that all SMs have work.
struct ShortKPlan {
  ShortKTile tile{};
  int blocks_per_sm = 0;
  int splits = 1;
  std::int64_t k_of_part = 0;  ///< steps of k in each part but the last
  double cycles = 0.0;         ///< expected
};

/// All tiles for operands of a precision, the smallest last.
std::span<const ShortKTile> short_k_tiles(Precision precision);

/// Tiles of C in all matrices of a batch.
std::int64_t tiles_of(const GemmProblem& problem, const ShortKTile& tile);

/// Times that the model expects, in cycles of an H200, and their parts.
struct ShortKTime {
  std::int64_t full_rounds = 0;  ///< of as many blocks as the SMs hold
  std::int64_t last_round = 0;   ///< blocks on each SM after those
  double alone = 0.0;            ///< a block that has an SM to itself
  double own = 0.0;              ///< an SM, for each of its blocks
  double summing = 0.0;          ///< of the parts of k, by a second launch
  double cycles = 0.0;           ///< all of it, with the launch
};

ShortKTime expected_time(const GemmProblem& problem, const ShortKPlan& plan, int sm_count);

}  // namespace tilescope::operations
