// The tiles of kernels/gemm/short_k_mma.cu and the model of their time.
#pragma once

#include <cstdint>
#include <span>

#include "operations/gemm/general/mma_sync.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

/// A block's tile, and microseconds on an H200: of the first tile of each SM, and of each further
/// one; of both for each 128 bytes of k, and where C is added; of each stage but the first.
struct ShortKMmaTile {
  int rows = 0, columns = 0;
  int warp_rows = 0, warp_columns = 0;
  int longest_bytes = 0;  ///< of k in a stage
  double first = 0.0, of_k = 0.0, adding = 0.0;
  double next = 0.0, next_of_k = 0.0, next_adding = 0.0;
  double of_stage = 0.0;
};
std::span<const ShortKMmaTile> short_k_mma_tiles();

/// Times that the model expects, in cycles of an H200, and their parts.
struct ShortKMmaTime {
  std::int64_t further = 0;  ///< tiles of an SM after its first
  std::int64_t stages = 0;   ///< that k fills
  double first = 0.0;        ///< the first tile of each SM, with the launch
  double next = 0.0;         ///< each further one
  double cycles = 0.0;       ///< all of it
};

/// `plan`: of one of short_k_mma_tiles().
ShortKMmaTime expected_time(const GemmProblem& problem, const MmaSyncPlan& plan, int sm_count);

}  // namespace tilescope::operations
