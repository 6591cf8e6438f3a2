#include "transfer/tile_kernel.hpp"

#include "base/errors.hpp"
#include "operations/gemm/general/general.hpp"
#include "operations/gemm/hopper/ffma.hpp"
#include "operations/gemm/operands/operand_conversion.hpp"
#include "operations/rung/kernel_plan.hpp"

namespace tilescope::transfer {
namespace {

using namespace operations;

// The kernels of the GEMM table whose order of additions does not depend on m and n.
constexpr std::string_view whole_sums = "general", fast_sums = "ffma_tiles",
                           small_tiles = "short_k";

// Rows of a column-major A or B are read 16 bytes at a time.
constexpr std::int64_t copied_at_once = 4;

GemmProblem dense_problem_of(const MatmulShape& shape, DataType element, Order a, Order b) {
  return dense_problem(shape, element == DataType::float64 ? Precision::fp64 : Precision::fp32,
                       element, element, a, b);
}

// As the whole product lies in a device's memory, whose rows decide over kernels and plans.
GemmProblem whole_problem_of(const MatmulShape& shape, DataType element, Order a, Order b) {
  GemmProblem problem = dense_problem_of(shape, element, a, b);
  problem.a = padded_operand(a, shape.m, shape.k, element);
  problem.b = padded_operand(b, shape.k, shape.n, element);
  problem.c = padded_operand(Order::row_major, shape.m, shape.n, element);
  return problem;
}

Order order_of(bool by_columns) {
  return by_columns ? Order::column_major : Order::row_major;
}

TileKernel rung_kernel(const DeviceProperties& device, DataType element, const std::string& name) {
  const std::string_view best = best_matmul_variant(device, element);
  const MatmulVariant& variant = matmul_variant(name.empty() ? best : name);
  if (!variant.row->can_accumulate || (element == DataType::float64 && !variant.row->any_element)) {
    throw usage_error("variant {} does not multiply {} in pieces; use {}", variant.name,
                      name_of(element), best);
  }
  return {.name = variant.name,
          .granularity = variant.row->granularity(variant.width),
          .can_cut_k = true,
          .element = element,
          .rung = &variant};
}

// Each element is summed along k in order, whatever the tile.
TileKernel general_kernel(const GemmVariant& variant, DataType element, Order a, Order b) {
  return {.name = std::string(variant.name),
          .granularity = {64, 64, 16},
          .a_by_columns = a == Order::column_major,
          .b_by_columns = b == Order::column_major,
          .element = element,
          .variant = &variant};
}

// The whole product's tile and parts of k fix the order of the additions. For a tile that needs A
// transposed, a panel is transposed once, when it arrives.
TileKernel ffma_kernel(const GemmVariant& variant, const GemmProblem& whole,
                       const DeviceProperties& device) {
  const FfmaPlan plan = best_ffma_plan(whole, device);
  const bool one_sum = plan.splits == 1 && plan.tile.slices == 1;
  return {.name = std::string(variant.name),
          .granularity = {256, 256, 32},
          .runs_overlap = one_sum,
          .a_by_columns = plan.tile.by_steps,
          .variant = &variant,
          .ffma = plan};
}

// The same, whatever the orders of the operands.
TileKernel short_k_kernel(const GemmVariant& variant, const GemmProblem& whole,
                          const DeviceProperties& device) {
  const ShortKPlan plan = short_k_plan_candidates(whole, device).front();
  return {.name = std::string(variant.name),
          .granularity = {64, 64, 16},
          .runs_overlap = plan.splits == 1,
          .a_by_columns = whole.a.order == Order::column_major,
          .b_by_columns = whole.b.order == Order::column_major,
          .variant = &variant,
          .short_k = plan};
}

}  // namespace

MatmulShape TileKernel::padded(const MatmulShape& shape) const {
  return rung == nullptr ? shape : rung->padded(shape);
}

bool multiplies_in_tiles(std::string_view name) {
  return name == whole_sums || name == fast_sums || name == small_tiles;
}

TileKernel choose_tile_kernel(const DeviceProperties& device, const MatmulShape& shape,
                              DataType element, Order a_order, Order b_order,
                              const std::string& name, bool must_cut_k) {
  const GemmProblem whole = whole_problem_of(shape, element, a_order, b_order);
  const GemmVariant& ffma = gemm_variant(fast_sums);
  const GemmVariant& general = gemm_variant(whole_sums);
  if (name == general.name && !must_cut_k) {
    return general_kernel(general, element, a_order, b_order);
  }
  const GemmVariant& short_k = gemm_variant(small_tiles);
  const GemmVariant* const taken =
      name.empty() ? &best_gemm_variant(whole, device) : find_gemm_variant(name);
  if ((taken != &ffma && taken != &short_k) || (must_cut_k && name.empty())) {
    return rung_kernel(device, element, name);
  }
  if (must_cut_k) {
    throw usage_error(
        "variant {} takes panels with all of k = {}, which do not fit; raise the limit, or use {}",
        name, shape.k, best_matmul_variant(device, element));
  }
  if (const auto why = taken->refusal(whole, device)) {
    throw usage_error("variant {}: {}", taken->name, *why);
  }
  return taken == &ffma ? ffma_kernel(ffma, whole, device) : short_k_kernel(short_k, whole, device);
}

std::unique_ptr<GemmRun> TileRuns::prepare(const MatmulShape& shape, const TileOperands& operands) {
  GemmProblem problem = dense_problem_of(shape, kernel_.element, order_of(kernel_.a_by_columns),
                                         order_of(kernel_.b_by_columns));
  problem.a.leading = operands.a_leading;
  problem.b.leading = operands.b_leading;
  problem.c.leading = operands.c_leading;
  if (kernel_.short_k) return prepare_short_k(device_, problem, *kernel_.short_k);
  if (!kernel_.ffma) return kernel_.variant->prepare(device_, problem);
  return prepare_ffma(
      device_, problem,
      ffma_plan(problem, device_.properties(), kernel_.ffma->tile, kernel_.ffma->splits));
}

void TileRuns::run(const MatmulShape& shape, bool accumulate, const TileOperands& operands,
                   const Stream& stream) {
  if (!kernel_.takes_parts()) {
    auto& product = products_[{shape.m, shape.n, shape.k, accumulate}];
    if (!product) {
      product = std::make_unique<KernelProduct>(device_, *kernel_.rung, shape, kernel_.element,
                                                accumulate);
    }
    product->run(operands.a, operands.b, operands.c, stream);
    return;
  }
  // Memory has room for the rest of a row's last 16 bytes; the results computed there are never
  // read.
  MatmulShape whole = shape;
  if (kernel_.ffma) {
    whole.m = groups_of(shape.m, copied_at_once) * copied_at_once;
    whole.n = groups_of(shape.n, copied_at_once) * copied_at_once;
  }
  auto& gemm = gemms_[{whole.m, whole.n, whole.k}];
  if (!gemm) gemm = prepare(whole, operands);
  gemm->run({.a = operands.a, .b = operands.b, .c = operands.c}, stream);
}

}  // namespace tilescope::transfer
