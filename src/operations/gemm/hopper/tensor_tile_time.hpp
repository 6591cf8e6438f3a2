// The model of the time that a tile of tensor_tiles.cu or panel_tiles.cu takes.
#pragma once

#include "operations/gemm/hopper/tensor_tile.hpp"
#include "operations/gemm/hopper/tensor_tile_layout.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

/// Cycles of an H200 with `sm_count` SMs, launches and copies of operands included. `problem` as
/// problem_of() makes it for the tile.
double predicted_cycles(const GemmProblem& problem, const TensorTile& tile,
                        const TileLayout& layout, int sm_count);

/// Whether the rows of an operand begin anywhere in a cache line, so that they are loaded slowly.
bool comes_in_pieces(const TileOperand& operand);

}  // namespace tilescope::operations
