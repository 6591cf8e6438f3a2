// How rows of operands lie in memory, by which kernels choose how to copy them.
#pragma once

#include <compare>

#include "operations/gemm/problem/gemm_problem.hpp"
#include "operations/rung/kernel_plan.hpp"

namespace tilescope::operations {

/// Rows begin anywhere; they begin at multiples of a chunk of 16 bytes; they also end there. words:
/// they begin anywhere, and a kernel copies their elements of 32 bits one by one. The values are
/// those of kernels/gemm/mma_fragments.cuh.
enum class RowsBy { elements = 0, partial_chunks = 1, chunks = 2, words = 3 };

struct ChunkAccess {
  RowsBy a = RowsBy::chunks, b = RowsBy::chunks;
  bool c_quads = true;  ///< rows of C begin and end at multiples of four elements
  auto operator<=>(const ChunkAccess&) const = default;
};

ChunkAccess chunk_access(const GemmProblem& problem, const GemmAddresses& addresses);

}  // namespace tilescope::operations
