#include "operations/gemm/dispatch/gemm_variants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/errors.hpp"
#include "base/text.hpp"
#include "operations/gemm/dispatch/variant_plans.hpp"
#include "operations/gemm/general/fp64_tiles.hpp"
#include "operations/gemm/general/gemv.hpp"
#include "operations/gemm/general/general.hpp"
#include "operations/gemm/general/mma_sync.hpp"
#include "operations/gemm/general/short_k.hpp"
#include "operations/gemm/general/short_k_mma.hpp"
#include "operations/gemm/general/short_k_mma_network.hpp"
#include "operations/gemm/general/small_products.hpp"
#include "operations/gemm/hopper/ffma.hpp"
#include "operations/gemm/hopper/ffma_plan.hpp"
#include "operations/gemm/hopper/narrow_tiles.hpp"
#include "operations/gemm/hopper/register_operand.hpp"
#include "operations/gemm/hopper/split_tiles.hpp"
#include "operations/gemm/hopper/tensor_tile_choice.hpp"
#include "operations/gemm/hopper/tensor_tiles.hpp"
#include "operations/gemm/hopper/unaligned_rows.hpp"
#include "operations/gemm/hopper/wgmma_rungs.hpp"

namespace tilescope::operations {
namespace {

// The problem in fp32, by the variant that is best for it on a real GPU: an emulated one that runs
// this runs what the real one does.
std::unique_ptr<GemmRun> prepare_best_fp32(Device& device, const GemmProblem& problem) {
  GemmProblem in_fp32 = problem;
  in_fp32.precision = Precision::fp32;
  DeviceProperties real = device.properties();
  real.warpgroup_products = real.compute_major == 9;
  const GemmVariant& best = best_gemm_variant(in_fp32, real);
  // Its rung has one kernel, that of its row in the table, whatever k is.
  return best.name == "short_k" ? prepare_ffma(device, in_fp32) : best.prepare(device, in_fp32);
}

class AsFp32Run final : public GemmRun {
 public:
  AsFp32Run(Device& device, const GemmProblem& problem)
      : run_(prepare_best_fp32(device, problem)) {}
  void run(const GemmAddresses& addresses, const Stream& stream) override {
    run_->run(addresses, stream);
  }
  std::string note() const override { return "computed as fp32, which is faster at this size"; }

 private:
  std::unique_ptr<GemmRun> run_;
};

// Short rows leave the warps of `gemv` few loads. On an H200 it was faster than tiles for tensor
// cores for rows of 16-bit elements of 4 KiB and more; shorter ones were not measured.
bool gemv_pays(const GemmProblem& problem, const DeviceProperties& device) {
  constexpr std::int64_t least_bytes = 4 << 10U;
  const auto element = static_cast<std::int64_t>(size_of(problem.a.type));
  return element != 2 || problem.shape.k * element >= least_bytes ||
         narrow_tiles_refusal(problem, device);
}

// Products that are too small or too narrow to repay splitting their operands.
std::optional<std::string> as_fp32_refusal(const GemmProblem& problem,
                                           const DeviceProperties& device) {
  if (const auto why = split_tiles_refusal(problem, device)) return why;
  // The extent from which the parts were faster than FFMAs on an H200.
  constexpr std::int64_t least_extent = 512;
  constexpr double least_flops = 6e9;
  const MatmulShape& s = problem.shape;
  if (std::min(s.m, s.n) >= least_extent &&
      s.flops() * static_cast<double>(problem.batch) >= least_flops) {
    return "split_tiles is faster at this size";
  }
  return std::nullopt;
}

// The least cycles that kernels for long k expect of a product in 16 bits or tf32; infinity where
// none takes it.
double cycles_by_tensor_cores(const GemmProblem& problem, const DeviceProperties& device) {
  double cycles = std::numeric_limits<double>::infinity();
  if (!tensor_tiles_refusal(problem, device) && tensor_tiles_pay(problem, device)) {
    cycles = timed_tensor_tiles(problem, device).front().cycles;
  }
  if (!register_operand_refusal(problem, device)) {
    cycles = std::min(cycles, timed_register_tiles(problem, device).front().cycles);
  }
  return cycles;
}

// By what networks expect of it and of the kernels that take long k; by a rule of extents where
// these were not measured.
bool short_k_mma_is_faster(const GemmProblem& problem, const DeviceProperties& device) {
  if (!short_k_mma_may_pay(problem, device)) return false;
  const double others = cycles_by_tensor_cores(problem, device);
  if (short_k_mma_network_for(problem) == nullptr || std::isinf(others)) {
    return short_k_mma_pays(problem, device);
  }
  return short_k_mma_plan_candidates(problem, device).front().cycles < others;
}

// By the models of both, which were fitted on Hopper; beside tensor cores where that was measured:
// few steps, results of a few rounds of small tiles.
bool short_k_is_faster(const GemmProblem& problem, const DeviceProperties& device) {
  if (device.compute_major != 9) return false;
  const auto cycles = [&] { return short_k_plan_candidates(problem, device).front().cycles; };
  if (problem.precision == Precision::fp32) {
    return cycles() <= best_ffma_plan(problem, device).cycles;
  }
  constexpr std::int64_t most_steps = 200;
  constexpr double most_elements = 4e5;
  const MatmulShape& s = problem.shape;
  if (short_k_mma_network_for(problem) == nullptr || s.k > most_steps ||
      double(problem.batch) * double(s.m) * double(s.n) > most_elements) {
    return false;
  }
  double others = cycles_by_tensor_cores(problem, device);
  if (short_k_mma_may_pay(problem, device)) {
    others = std::min(others, short_k_mma_plan_candidates(problem, device).front().cycles);
  }
  return cycles() < others;
}

std::unique_ptr<GemmRun> prepare_as_fp32(Device& device, const GemmProblem& problem) {
  return std::make_unique<AsFp32Run>(device, problem);
}

const std::vector<GemmVariant> variants{
    {.name = "general",
     .idea = "any shape, type, order and epilogue",
     .source = "gemm/general.cu",
     .refusal = general_refusal,
     .prepare = prepare_general},
    {.name = "mma_sync",
     .idea = "tensor cores, fed by cp.async",
     .source = "gemm/mma_sync.cu",
     .refusal = mma_sync_refusal,
     .prepare = prepare_mma_sync,
     .order_of_sums = mma_sync_order},
    {.name = "fp64_tiles",
     .idea = "fp64 on tensor cores, fed by cp.async",
     .source = "gemm/fp64_tiles.cu",
     .refusal = fp64_tiles_refusal,
     .prepare = prepare_fp64_tiles,
     .pays = fp64_tiles_pay,
     .plans = fp64_tiles_plans,
     .prepare_plan = prepare_fp64_tiles_plan},
    {.name = "ffma_tiles",
     .idea = "FFMA, fed by the copy engine",
     .source = "gemm/ffma_tiles.cu",
     .refusal = ffma_refusal,
     .prepare = prepare_ffma,
     .plans = ffma_plans,
     .prepare_plan = prepare_ffma_plan,
     .plan_features = ffma_plan_features},
    {.name = "wgmma",
     .idea = "a warpgroup multiplies what TMA brings",
     .source = "gemm/wgmma.cu",
     .refusal = wgmma_refusal,
     .prepare = prepare_wgmma,
     .is_step = true},
    {.name = "wgmma_stages",
     .idea = "two warpgroups, copies run ahead",
     .source = "gemm/wgmma_stages.cu",
     .refusal = wgmma_refusal,
     .prepare = prepare_wgmma_stages,
     .is_step = true},
    {.name = "specialised",
     .idea = "a producer copies, consumers multiply",
     .source = "gemm/tensor_tiles.cu",
     .refusal = tensor_tiles_refusal,
     .prepare = prepare_specialised,
     .is_step = true},
    {.name = "wide_tiles",
     .idea = "128 x 256 of C in a block",
     .source = "gemm/tensor_tiles.cu",
     .refusal = tensor_tiles_refusal,
     .prepare = prepare_wide_tiles,
     .is_step = true},
    {.name = "persistent",
     .idea = "blocks stay for tile after tile",
     .source = "gemm/tensor_tiles.cu",
     .refusal = tensor_tiles_refusal,
     .prepare = prepare_persistent,
     .is_step = true},
    {.name = "cluster",
     .idea = "two blocks share their tiles of B",
     .source = "gemm/tensor_tiles.cu",
     .refusal = tensor_tiles_refusal,
     .prepare = prepare_cluster,
     .is_step = true},
    {.name = "panel_tiles",
     .idea = "a panel of B stays, consumers take turns",
     .source = "gemm/panel_tiles.cu",
     .refusal = panel_tiles_refusal,
     .prepare = prepare_panel_tiles,
     .is_step = true},
    {.name = "tensor_tiles",
     .idea = "the tile by a model, tiles in turn",
     .source = "gemm/tensor_tiles.cu",
     .refusal = tensor_tiles_refusal,
     .prepare = prepare_tensor_tiles,
     .pays = tensor_tiles_pay,
     .plans = tensor_tiles_plans,
     .prepare_plan = prepare_tensor_tiles_plan,
     .plan_features = tensor_tiles_plan_features,
     .awaits_columns = tensor_tiles_plan_awaits_columns},
    {.name = "unaligned_rows",
     .idea = "B's rows begin anywhere: multiplied from registers",
     .source = "gemm/unaligned_rows.cu",
     .refusal = unaligned_rows_refusal,
     .prepare = prepare_unaligned_rows,
     .pays = unaligned_rows_pay},
    {.name = "register_operand",
     .idea = "row-major tf32 B from registers, not transposed",
     .source = "gemm/register_operand.cu",
     .refusal = register_operand_refusal,
     .prepare = prepare_register_operand,
     .pays = register_operand_pays,
     .plans = register_operand_plans,
     .prepare_plan = prepare_register_operand_plan,
     .plan_features = register_operand_plan_features},
    {.name = "short_k_mma",
     .idea = "tensor cores for few steps of k: many small blocks",
     .source = "gemm/short_k_mma.cu",
     .refusal = short_k_mma_refusal,
     .prepare = prepare_short_k_mma,
     .pays = short_k_mma_is_faster,
     .plans = short_k_mma_plans,
     .prepare_plan = prepare_short_k_mma_plan,
     .plan_features = short_k_mma_plan_features},
    {.name = "short_k",
     .idea = "few steps of k by FFMAs: many small blocks",
     .source = "gemm/short_k.cu",
     .refusal = short_k_refusal,
     .prepare = prepare_short_k,
     .pays = short_k_is_faster,
     .plans = short_k_plans,
     .prepare_plan = prepare_short_k_plan,
     .plan_features = short_k_plan_features},
    {.name = "narrow_tiles",
     .idea = "few rows or columns of C: memory's speed",
     .source = "gemm/narrow_tiles.cu",
     .refusal = narrow_tiles_refusal,
     .prepare = prepare_narrow_tiles,
     .pays = narrow_tiles_pay,
     .order_of_sums = narrow_tiles_order},
    {.name = "split_tiles",
     .idea = "float32 as two float16 parts, sums promoted",
     .source = "gemm/split_tiles.cu",
     .refusal = split_tiles_refusal,
     .prepare = prepare_split_tiles,
     .order_of_sums = split_tiles_order},
    {.name = "as_fp32",
     .idea = "fp32's best, where parts do not pay",
     .source = "gemm/ffma_tiles.cu",
     .refusal = as_fp32_refusal,
     .prepare = prepare_as_fp32},
    {.name = "small_products",
     .idea = "many small products: blocks take whole ones",
     .source = "gemm/small_products.cu",
     .refusal = small_products_refusal,
     .prepare = prepare_small_products,
     .pays = small_products_pay,
     .plans = small_products_plans,
     .prepare_plan = prepare_small_products_plan},
    {.name = "gemv",
     .idea = "one vector: memory's speed",
     .source = "gemm/gemv.cu",
     .refusal = gemv_refusal,
     .prepare = prepare_gemv,
     .pays = gemv_pays},
};

}  // namespace

const std::vector<GemmVariant>& gemm_variants() {
  return variants;
}

const GemmVariant* find_gemm_variant(std::string_view name) {
  const auto& all = gemm_variants();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const GemmVariant& variant) { return variant.name == name; });
  return found == all.end() ? nullptr : &*found;
}

const GemmVariant& gemm_variant(std::string_view name) {
  if (const GemmVariant* found = find_gemm_variant(name)) return *found;
  std::vector<std::string_view> names;
  for (const GemmVariant& variant : gemm_variants()) names.push_back(variant.name);
  const std::string_view near = nearest(name, names);
  throw usage_error("matmul has no variant \"{}\"{}", name,
                    near.empty() ? "" : fmt::format(", did you mean {}?", near));
}

DeviceProperties properties_to_choose_by(const DeviceProperties& device) {
  DeviceProperties judged = device;
  if (device.compute_major == 9 && !device.warpgroup_products) judged.compute_major = 8;
  return judged;
}

const GemmVariant& best_gemm_variant(const GemmProblem& problem, const DeviceProperties& device) {
  const DeviceProperties judged = properties_to_choose_by(device);
  const auto& all = gemm_variants();
  const auto best = std::find_if(all.rbegin(), all.rend(), [&](const GemmVariant& variant) {
    return !variant.is_step && !variant.refusal(problem, judged) &&
           (!variant.pays || variant.pays(problem, judged));
  });
  return best == all.rend() ? all.front() : *best;
}

}  // namespace tilescope::operations
