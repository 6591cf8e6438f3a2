// tf32 products with a row-major B or a column-major A, which the tensor cores read from registers
// (wgmma, sm_90a).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operations/gemm/operands/tensor_layout.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"
#include "operations/rung/kernel_plan.hpp"

namespace tilescope::operations {

/// The part of a tile that two blocks of a cluster share, as the kernel numbers it.
enum class RegisterPair {
  none,      ///< blocks by themselves
  shares_b,  ///< one below the other
  shares_a,  ///< side by side
  shares_c,  ///< each has half of k; the tile's k is not cut otherwise then
};

/// The constants that kernels/gemm/register_operand.cu is compiled for.
struct RegisterTile {
  int m = 128;        ///< rows of C per block
  int products = 1;   ///< groups of 64 columns for each consumer
  int consumers = 2;  ///< warpgroups that multiply
  int stages = 4;     ///< pairs of tiles in flight
  RegisterPair pair = RegisterPair::none;
  int splits = 1;           ///< parts that k is cut into
  int group = 8;            ///< rows of tiles that are computed together
  bool a_by_class = false;  ///< rows of A that begin off cache lines are read by class
  /// The kernel computes C^T = B^T A^T: its B is A^T, `m` are columns of C, n() rows.
  bool transposed = false;

  int n() const { return 64 * products * consumers; }  ///< columns of C per block
  int cluster() const { return pair == RegisterPair::none ? 1 : 2; }
  friend bool operator==(const RegisterTile&, const RegisterTile&) = default;
};

/// The product as the kernel computes it with this tile, whose B is row-major.
GemmProblem problem_of(const RegisterTile& tile, const GemmProblem& problem);

/// The tile as "128x256x4 shares B split 3 transposed".
std::string text_of(const RegisterTile& tile);

/// The way in which the kernel reads the operands of a problem as it computes it.
struct RegisterLayout {
  RowsInMemory a, b;
  bool transposes_a = false;                  ///< A is column-major: its copy is row-major
  bool repacks_a = false, repacks_b = false;  ///< copied first to rows of whole 16-byte chunks
  int a_classes = 1, b_classes = 1;           ///< interleaved matrices as which their rows are read
  std::int64_t a_unit = 32;   ///< boxes of A's classes begin at multiples of this many bytes
  bool c_is_aligned = false;  ///< a thread can store its neighbours in C at once
};
RegisterLayout layout_of(const GemmProblem& problem, const RegisterTile& tile);

/// The elements by which boxes of a class of A begin early.
int a_shift_of(const RegisterLayout& layout, int of_class);

/// Tiles of k, including those elements where they are whole sectors.
std::int64_t k_tiles_of(const GemmProblem& problem, const RegisterLayout& layout);

/// Dynamic shared memory of a block, bytes.
std::size_t shared_bytes_of(const RegisterTile& tile, const RegisterLayout& layout);

/// The kernel's constants for a problem as it computes it. With `is_partial` the sums of a part of
/// k leave unscaled.
Defines register_constants(const GemmProblem& problem, const RegisterTile& tile,
                           const RegisterLayout& layout, bool is_partial);

/// A tile, and the cycles that it is expected to take.
struct TimedRegisterTile {
  RegisterTile tile;
  double cycles = 0.0;
};

/// Tiles that can compute the problem, the fastest first: by the model of register_tile_time.hpp,
/// of which the first are ranked once more by the network that was trained on such. Extents are at
/// least 1.
std::vector<TimedRegisterTile> timed_register_tiles(const GemmProblem& problem,
                                                    const DeviceProperties& device);

/// The tiles alone.
std::vector<RegisterTile> register_tile_candidates(const GemmProblem& problem,
                                                   const DeviceProperties& device);

std::optional<std::string> register_operand_refusal(const GemmProblem& problem,
                                                    const DeviceProperties& device);
/// Whether it is expected to be faster than tensor_tiles, by the models of both, and than mma_sync.
bool register_operand_pays(const GemmProblem& problem, const DeviceProperties& device);
std::unique_ptr<GemmRun> prepare_register_operand(Device& device, const GemmProblem& problem);
/// The same with a tile of the caller's choice.
std::unique_ptr<GemmRun> prepare_register_operand(Device& device, const GemmProblem& problem,
                                                  const RegisterTile& tile);

}  // namespace tilescope::operations
