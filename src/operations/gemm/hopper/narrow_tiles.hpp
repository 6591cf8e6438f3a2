// Products whose C has few rows or few columns, at the speed at which memory delivers the long
// operand (wgmma, sm_90a).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "operations/gemm/operands/tensor_layout.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"
#include "operations/rung/kernel_plan.hpp"

namespace tilescope::operations {

/// The constants that kernels/gemm/narrow_tiles.cu is compiled for.
struct NarrowTile {
  int groups = 4;   ///< groups of 64 rows of the long operand in a block
  int narrow = 16;  ///< rows of the narrow operand: 16, 32 or 64
  int k_boxes = 1;  ///< boxes of 128 bytes along k in a stage
  int stages = 4;   ///< stages in flight for a block
  int cluster = 4;  ///< parts that k is cut into, one for each block of a cluster

  int rows() const { return 64 * groups; }  ///< rows of the long operand
  friend bool operator==(const NarrowTile&, const NarrowTile&) = default;
};

/// The tile as "256x16x5 cluster 4", the long operand first.
std::string text_of(const NarrowTile& tile);

/// The memory order of an operand: in rows along k, one for each row or column of C, or MN-major:
/// in rows along C, one for each k.
struct NarrowOperand {
  RowsInMemory rows;
  bool mn_major = false;
};

/// The layout of both operands, by length.
struct NarrowLayout {
  bool long_is_b = false;
  std::int64_t long_rows = 0, narrow_rows = 0;  ///< the extents of C
  NarrowOperand of_long, of_narrow;
};
NarrowLayout narrow_layout(const GemmProblem& problem);

/// The tile for a problem that narrow_tiles_refusal() takes.
NarrowTile narrow_tile(const GemmProblem& problem, const DeviceProperties& device);

/// The parts that k is cut into, which depend on the number of tiles (GemmVariant::order_of_sums).
std::string narrow_tiles_order(const GemmProblem& problem, const DeviceProperties& device);

/// Dynamic shared memory of a block, bytes.
std::size_t shared_bytes_of(const NarrowTile& tile, const NarrowLayout& layout);

/// The kernel's constants.
Defines narrow_constants(const GemmProblem& problem, const NarrowTile& tile);

std::optional<std::string> narrow_tiles_refusal(const GemmProblem& problem,
                                                const DeviceProperties& device);
/// Whether k is long enough that memory decides.
bool narrow_tiles_pay(const GemmProblem& problem, const DeviceProperties& device);
std::unique_ptr<GemmRun> prepare_narrow_tiles(Device& device, const GemmProblem& problem);
/// The same with a tile of the caller's choice.
std::unique_ptr<GemmRun> prepare_narrow_tiles(Device& device, const GemmProblem& problem,
                                              const NarrowTile& tile);

}  // namespace tilescope::operations
