// The warps of a block, and which of them diverge.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tilescope/launch.hpp>

namespace tilescope::gpu {

/// Threads are numbered x first, then y, then z; warps are consecutive runs of that numbering.
std::uint64_t linear_thread(const Dim3& thread, const Dim3& block);
Dim3 thread_at(std::uint64_t linear, const Dim3& block);
std::uint64_t warps_per_block(const Dim3& block, int warp_size = 32);

/// How often warps evaluated a condition, and how often their threads disagreed about it.
struct DivergenceCount {
  std::uint64_t blocks = 0;
  std::uint64_t warps = 0;        ///< blocks * warps per block
  std::uint64_t evaluations = 0;  ///< warps * iterations of the loop, if there is one
  std::uint64_t divergent = 0;  ///< evaluations that were true in some threads and false in others
  std::uint64_t all_true = 0, all_false = 0;
  std::uint64_t divergent_warps = 0;  ///< warps with at least one divergent evaluation

  double share() const { return evaluations == 0 ? 0.0 : double(divergent) / double(evaluations); }
  DivergenceCount& operator+=(const DivergenceCount& other);
};

/// A loop around the condition: `variable` runs from `first` to `last` - 1.
struct ConditionLoop {
  std::string variable = {};
  std::int64_t first = 0, last = 1;
};

/// Counts the condition over a whole launch, exactly. It is an expression of threadIdx, blockIdx,
/// blockDim, gridDim (.x .y .z), the loop's variable and the names in `values`. The lectures' short
/// forms are known too: tx, bx, row, col, ... (see standard_definitions in index_names.hpp). Throws
/// Error(usage) for an expression that does not parse or has a name without a value, and for a
/// launch of more than 2^28 evaluations that depend on the block.
DivergenceCount count_divergence(const std::string& condition, const Launch& launch,
                                 const ConditionLoop& loop = {},
                                 const std::map<std::string, std::string>& definitions = {},
                                 int warp_size = 32);

/// `i < count` in a grid of one-dimensional blocks that just covers `count` elements.
DivergenceCount vector_bounds(std::int64_t count, int block, int warp_size = 32);

/// Divergence when the tiles of one operand of C(m x n) = A(m x k) B(k x n) are loaded with
/// boundary checks, in tiles and blocks of width x width: separately for the blocks whose rows (of
/// A; columns, of B) all exist, and for the others at the edge.
struct TileLoadDivergence {
  DivergenceCount inside, edge;

  DivergenceCount total() const;
};
enum class Operand { a, b };
TileLoadDivergence tile_load_divergence(Operand operand, std::int64_t m, std::int64_t n,
                                        std::int64_t k, int width, int warp_size = 32);

}  // namespace tilescope::gpu
