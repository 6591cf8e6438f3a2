// The kernel that multiplies the tiles of a product.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tilescope/device.hpp>
#include <tilescope/matrix.hpp>
#include <tuple>

#include "operations/gemm/dispatch/gemm_variants.hpp"
#include "operations/gemm/general/short_k.hpp"
#include "operations/gemm/hopper/ffma_plan.hpp"
#include "operations/matmul/kernel_product.hpp"

namespace tilescope::transfer {

/// A kernel and the layout that it needs of its operands. In any part of a product, each element is
/// summed in the same order as in the whole.
struct TileKernel {
  std::string name;
  MatmulShape granularity;    ///< extents of tiles are multiples of it
  bool can_cut_k = false;     ///< C += A * B continues the sum in C
  bool runs_overlap = true;   ///< runs in different streams share no memory
  bool a_by_columns = false;  ///< A is column-major, else row-major
  bool b_by_columns = false;  ///< the same for B
  DataType element = DataType::float32;

  // Exactly one of the two is set:
  const operations::MatmulVariant* rung = nullptr;   ///< of the ladder: dense padded operands
  const operations::GemmVariant* variant = nullptr;  ///< of the GEMM table: any rectangle
  // The whole product's plan, where `variant` is one of these:
  std::optional<operations::FfmaPlan> ffma;
  std::optional<operations::ShortKPlan> short_k;

  /// Whether any part of a tile can be multiplied in place. Otherwise a tile is dense in padded().
  bool takes_parts() const { return variant != nullptr; }
  MatmulShape padded(const MatmulShape& shape) const;
};

/// Operands of one run: addresses, and elements between the rows (for a column-major A or B: the
/// columns). A kernel that does not take parts has them dense in its padded shape.
struct TileOperands {
  DeviceAddress a = 0, b = 0, c = 0;
  std::int64_t a_leading = 0, b_leading = 0, c_leading = 0;
};

/// Whether the kernel of that name in the GEMM table multiplies parts of a product.
bool multiplies_in_tiles(std::string_view name);

/// The kernel for a product with a row-major C whose operands in host memory have these orders: the
/// one called `name`, or by default the one that matmul() would take. `must_cut_k`: only a kernel
/// that can. Throws Error(usage) for an unknown name, or a kernel that does not multiply in parts.
TileKernel choose_tile_kernel(const DeviceProperties& device, const MatmulShape& shape,
                              DataType element, Order a_order, Order b_order,
                              const std::string& name, bool must_cut_k);

/// The kernel, prepared for one shape after another.
class TileRuns {
 public:
  TileRuns(Device& device, const TileKernel& kernel) : device_(device), kernel_(kernel) {}

  /// Queues C = A * B of this shape, or with `accumulate` C += A * B.
  void run(const MatmulShape& shape, bool accumulate, const TileOperands& operands,
           const Stream& stream);

 private:
  std::unique_ptr<operations::GemmRun> prepare(const MatmulShape& shape,
                                               const TileOperands& operands);

  Device& device_;
  const TileKernel& kernel_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, bool>,
           std::unique_ptr<operations::KernelProduct>>
      products_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>,
           std::unique_ptr<operations::GemmRun>>
      gemms_;
};

}  // namespace tilescope::transfer
