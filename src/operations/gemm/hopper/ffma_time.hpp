// The model of the time that a plan of ffma_tiles.cu takes.
#pragma once

#include <cstdint>

#include "operations/gemm/hopper/ffma_tile.hpp"

namespace tilescope::operations {

/// Times that the model expects, in cycles of an H200, and their parts.
struct FfmaTime {
  std::int64_t blocks = 0;       ///< of all parts of k
  std::int64_t full_rounds = 0;  ///< of as many blocks as the SMs hold
  std::int64_t last_round = 0;   ///< blocks on each SM after those, which share it
  double ends = 0.0;             ///< a block's first copies and its store
  double step = 0.0;             ///< 32 steps of k of a block that has an SM to itself
  double words = 0.0;            ///< of those, copies of words by threads
  double busy = 0.0;             ///< all rounds
  double memory = 0.0;           ///< the same time as far as memory limits it
  double adding = 0.0;           ///< reads of the C that is added
  double copying = 0.0;          ///< copies of operands before
  double summing = 0.0;          ///< the kernel that adds up parts of k
  double cycles = 0.0;           ///< all of it, with the launch
};

FfmaTime expected_time(const GemmProblem& problem, const FfmaPlan& plan, int sm_count);

}  // namespace tilescope::operations
