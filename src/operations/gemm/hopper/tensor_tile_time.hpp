// The model of the time that a tile of tensor_tiles.cu or panel_tiles.cu takes.
#pragma once

#include "operations/gemm/hopper/tensor_tile.hpp"
#include "operations/gemm/hopper/tensor_tile_layout.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

/// Times that the model expects, in cycles of an H200, and their parts.
struct TileTime {
  double units = 0.0;     ///< parts of C, or of its sums over parts of k, of a tile each
  double blocks = 0.0;    ///< that run at once
  double rounds = 0.0;    ///< units of the block that has most
  double depth = 0.0;     ///< tiles of k of a unit
  double multiply = 0.0;  ///< a unit's products
  double store = 0.0;     ///< a unit's store
  double busiest = 0.0;   ///< a tile of k: products, loads or shared memory
  double loads = 0.0;     ///< the loads of a tile of k
  double arrival = 0.0;   ///< what is left of their way, for each tile of k
  double block = 0.0;     ///< all units of a block
  double memory = 0.0;    ///< the same time as far as memory limits it
  double cycles = 0.0;    ///< launches and copies of operands included
};

/// The time with `sm_count` SMs. `problem` as problem_of() makes it for the tile.
TileTime expected_time(const GemmProblem& problem, const TensorTile& tile, const TileLayout& layout,
                       int sm_count);

/// The L2 cache's requests for a row of a box of each operand, on average.
struct TileRequests {
  double a = 1.0, b = 1.0;
};
TileRequests requests_of_rows(const TensorTile& tile, const TileLayout& layout);

/// Whether all rows of C begin with cache lines.
bool c_begins_with_lines(const GemmProblem& problem);

/// Lots of boxes that a consumer stores one after the other.
int lots_of(const GemmProblem& problem, const TensorTile& tile);

/// Whether the rows of an operand begin anywhere in a cache line, so that they are loaded slowly.
bool comes_in_pieces(const TileOperand& operand);

}  // namespace tilescope::operations
