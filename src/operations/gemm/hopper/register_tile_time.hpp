// The model of the time that a tile of register_operand.cu takes.
#pragma once

#include <cstdint>

#include "operations/gemm/hopper/register_operand.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

/// Times that the model expects, in cycles of an H200, and their parts.
struct RegisterTime {
  double units = 0.0;   ///< parts of C, or of its sums over parts of k, of a tile each
  double rounds = 0.0;  ///< units of the block that has most
  double depth = 0.0;   ///< tiles of k of a unit
  double step = 0.0;    ///< a tile of k: products or loads
  double loads = 0.0;   ///< the loads of a tile of k
  double store = 0.0;   ///< a unit's store
  double blocks = 0.0;  ///< all units of a block
  double memory = 0.0;  ///< the same time as far as memory limits it
  double cycles = 0.0;  ///< launches and copies of operands included
};

/// The time with `sm_count` SMs. `problem` as problem_of() makes it for the tile.
RegisterTime expected_time(const GemmProblem& problem, const RegisterTile& tile,
                           const RegisterLayout& layout, int sm_count);

/// Tiles of C, for a pair that shares a tile of A or B those of both blocks, even where one has
/// nothing to do.
std::int64_t tiles_of(const GemmProblem& problem, const RegisterTile& tile,
                      const RegisterLayout& layout);

/// How much longer rows of a box of each operand take to come than those that begin with lines.
struct SlownessOfRows {
  double a = 1.0, b = 1.0;
};
SlownessOfRows slowness_of_rows(const RegisterLayout& layout);

/// Whether all rows of C begin with sectors of 32 bytes.
bool has_whole_sectors(const GemmProblem& problem);

}  // namespace tilescope::operations
