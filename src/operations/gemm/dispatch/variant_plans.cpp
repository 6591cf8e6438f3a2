#include "operations/gemm/dispatch/variant_plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/errors.hpp"
#include "base/text.hpp"
#include "operations/gemm/general/fp64_tiles.hpp"
#include "operations/gemm/general/short_k.hpp"
#include "operations/gemm/general/short_k_mma.hpp"
#include "operations/gemm/general/short_k_mma_network.hpp"
#include "operations/gemm/general/short_k_network.hpp"
#include "operations/gemm/general/small_products.hpp"
#include "operations/gemm/hopper/ffma.hpp"
#include "operations/gemm/hopper/ffma_network.hpp"
#include "operations/gemm/hopper/register_operand.hpp"
#include "operations/gemm/hopper/register_tile_network.hpp"
#include "operations/gemm/hopper/tensor_tile_choice.hpp"
#include "operations/gemm/hopper/tensor_tile_network.hpp"
#include "operations/gemm/hopper/tensor_tiles.hpp"
#include "operations/gemm/networks/product_features.hpp"

namespace tilescope::operations {
namespace {

// A text has everything that distinguishes the plans of one problem. Texts are looked up among the
// problem's plans, never parsed: a file cannot make a plan that no model would make.

std::string plan_text(const TensorTile& t) {
  return fmt::format(
      "tile {}x{} consumers {} stages {} cluster {}{}{} splits {} group {} boxes {}{}{}{}{}{}", t.m,
      t.n, t.consumers, t.stages, t.cluster,
      t.across > 1 ? fmt::format(" across {}", t.across) : "",
      t.layers > 1 ? fmt::format(" layers {}", t.layers) : "", t.splits, t.group, t.boxes,
      t.in_turn ? " in turn" : "", t.panel > 0 ? fmt::format(" panel {}", t.panel) : "",
      t.copies_a ? " A copied" : "", t.copies_b ? " B copied" : "",
      t.transposed ? " transposed" : "");
}

std::string plan_text(const RegisterTile& t) {
  return fmt::format("tile {}x{} products {} consumers {} stages {} pair {} splits {} group {}{}{}",
                     t.m, t.n(), t.products, t.consumers, t.stages, static_cast<int>(t.pair),
                     t.splits, t.group, t.a_by_class ? " A by class" : "",
                     t.transposed ? " transposed" : "");
}

std::string_view text_of(FfmaSource source) {
  switch (source) {
    case FfmaSource::boxes:
      return "boxes";
    case FfmaSource::words:
      return "words";
    case FfmaSource::transposed_words:
      return "transposed words";
    case FfmaSource::paired_boxes:
      return "paired boxes";
    case FfmaSource::copy:
      return "copied";
  }
  return "";
}

std::string plan_text(const FfmaPlan& p) {
  const FfmaTile& t = p.tile;
  return fmt::format("tile {}x{} thread {}x{} lanes {} slices {} quads {}{} A {} B {} splits {}",
                     t.m, t.n, t.thread_m, t.thread_n, t.lanes_down, t.slices, t.quads_at_once,
                     t.by_steps ? " by steps" : "", text_of(p.a), text_of(p.b), p.splits);
}

std::string plan_text(const Fp64Plan& p) {
  const Fp64Tile& t = p.tile;
  return fmt::format("tile {}x{} warps {}x{} slices {} depth {} splits {}", t.rows, t.columns,
                     t.warp_rows, t.warp_columns, t.slices, t.depth, p.splits);
}

std::string plan_text(const ShortKPlan& p) {
  const ShortKTile& t = p.tile;
  return fmt::format("tile {}x{} thread {}x{} slices {} depth {} stages {}{}", t.rows(),
                     t.columns(), t.thread_m, t.thread_n, t.slices, t.depth, t.stages,
                     p.splits > 1 ? fmt::format(" splits {}", p.splits) : "");
}

std::string plan_text(const SmallPlan& p) {
  return fmt::format("tile {}x{} warps {}x{} depth {} stages {} blocks {}", p.rows, p.columns,
                     p.warp_rows, p.warp_columns, p.depth_bytes, p.stages, p.blocks_per_sm);
}

std::string plan_text(const MmaSyncPlan& p) {
  return fmt::format("tile {}x{} warps {}x{} depth {} stages {} blocks {}", p.tile.rows,
                     p.tile.columns, p.tile.warp_rows, p.tile.warp_columns, p.depth_bytes, p.stages,
                     p.tile.blocks_per_sm);
}

// Where there are fewer tiles of k than requested parts, several plans end with the same number of
// parts and are equal.
std::vector<GemmPlan> sorted(std::vector<GemmPlan> plans) {
  std::set<std::string> seen;
  std::erase_if(plans, [&](const GemmPlan& plan) { return !seen.insert(plan.text).second; });
  std::stable_sort(plans.begin(), plans.end(), [](const GemmPlan& one, const GemmPlan& other) {
    return one.cycles < other.cycles;
  });
  return plans;
}

template <typename Plan>
const Plan& plan_called(std::string_view text, std::string_view variant,
                        const std::vector<Plan>& plans) {
  const auto found = std::find_if(plans.begin(), plans.end(),
                                  [&](const Plan& plan) { return plan_text(plan) == text; });
  if (found != plans.end()) return *found;
  throw usage_error("{} has no plan \"{}\" for this product", variant, printable(text, 120));
}

// The plans that know their time.
template <typename Plan>
std::vector<GemmPlan> plans_of(const std::vector<Plan>& candidates) {
  std::vector<GemmPlan> plans;
  for (const Plan& plan : candidates) {
    plans.push_back({.text = plan_text(plan), .cycles = plan.cycles});
  }
  return sorted(std::move(plans));
}

// The cycles, then the features.
template <typename Timed>
std::vector<double> in_one_list(const Timed& timed) {
  std::vector<double> all{timed.cycles};
  all.insert(all.end(), timed.features.begin(), timed.features.end());
  return all;
}

}  // namespace

std::vector<GemmPlan> tensor_tiles_plans(const GemmProblem& problem,
                                         const DeviceProperties& device) {
  std::vector<GemmPlan> plans;
  for (const auto& [tile, cycles] : timed_tensor_tiles(problem, device)) {
    plans.push_back({.text = plan_text(tile),
                     .cycles = cycles,
                     .order = fmt::format("splits {} layers {}", tile.splits, tile.layers),
                     .order_follows_rows = begins_anywhere(problem, tile),
                     .order_says_all = true});
  }
  return sorted(std::move(plans));
}

std::vector<double> tensor_tiles_plan_features(const GemmProblem& problem,
                                               const DeviceProperties& device,
                                               std::string_view plan) {
  const TensorTile tile =
      plan_called(plan, "tensor_tiles", tensor_tile_candidates(problem, device));
  if (network_for(problem, tile) == nullptr) return {};
  return in_one_list(timed_features(problem, tile, device.sm_count));
}

std::unique_ptr<GemmRun> prepare_tensor_tiles_plan(Device& device, const GemmProblem& problem,
                                                   std::string_view plan) {
  return prepare_tensor_tiles(
      device, problem,
      plan_called(plan, "tensor_tiles", tensor_tile_candidates(problem, device.properties())));
}

bool tensor_tiles_plan_awaits_columns(const GemmProblem& problem, const GemmAddresses& addresses,
                                      const DeviceProperties& device, std::string_view plan) {
  const TensorTile tile =
      plan_called(plan, "tensor_tiles", tensor_tile_candidates(problem, device));
  return awaits_columns(problem, addresses, tile);
}

std::vector<GemmPlan> register_operand_plans(const GemmProblem& problem,
                                             const DeviceProperties& device) {
  std::vector<GemmPlan> plans;
  for (const auto& [tile, cycles] : timed_register_tiles(problem, device)) {
    plans.push_back({.text = plan_text(tile), .cycles = cycles});
  }
  return sorted(std::move(plans));
}

std::vector<double> register_operand_plan_features(const GemmProblem& problem,
                                                   const DeviceProperties& device,
                                                   std::string_view plan) {
  if (!has_measured_extents(problem)) return {};
  const RegisterTile tile =
      plan_called(plan, "register_operand", register_tile_candidates(problem, device));
  return in_one_list(timed_features(problem, tile, device.sm_count));
}

std::unique_ptr<GemmRun> prepare_register_operand_plan(Device& device, const GemmProblem& problem,
                                                       std::string_view plan) {
  return prepare_register_operand(
      device, problem,
      plan_called(plan, "register_operand",
                  register_tile_candidates(problem, device.properties())));
}

std::vector<GemmPlan> fp64_tiles_plans(const GemmProblem& problem, const DeviceProperties& device) {
  return plans_of(fp64_plan_candidates(problem, device));
}

std::unique_ptr<GemmRun> prepare_fp64_tiles_plan(Device& device, const GemmProblem& problem,
                                                 std::string_view plan) {
  return prepare_fp64_tiles(
      device, problem,
      plan_called(plan, "fp64_tiles", fp64_plan_candidates(problem, device.properties())));
}

std::vector<GemmPlan> ffma_plans(const GemmProblem& problem, const DeviceProperties& device) {
  return plans_of(ffma_plan_candidates(problem, device));
}

std::vector<double> ffma_plan_features(const GemmProblem& problem, const DeviceProperties& device,
                                       std::string_view plan) {
  if (!has_measured_extents(problem)) return {};
  return in_one_list(timed_features(
      problem, plan_called(plan, "ffma_tiles", ffma_plan_candidates(problem, device)),
      device.sm_count));
}

std::unique_ptr<GemmRun> prepare_ffma_plan(Device& device, const GemmProblem& problem,
                                           std::string_view plan) {
  return prepare_ffma(
      device, problem,
      plan_called(plan, "ffma_tiles", ffma_plan_candidates(problem, device.properties())));
}

std::vector<GemmPlan> short_k_plans(const GemmProblem& problem, const DeviceProperties& device) {
  std::vector<ShortKPlan> plans = short_k_plan_candidates(problem, device);
  double before = 0.0;  // those that were not measured stay last, whatever is expected of them
  for (ShortKPlan& plan : plans) plan.cycles = before = std::max(before, plan.cycles);
  return plans_of(plans);
}

std::vector<double> short_k_plan_features(const GemmProblem& problem,
                                          const DeviceProperties& device, std::string_view plan) {
  if (!has_measured_extents(problem)) return {};
  return in_one_list(timed_features(
      problem, plan_called(plan, "short_k", short_k_plan_candidates(problem, device)),
      device.sm_count));
}

std::unique_ptr<GemmRun> prepare_short_k_plan(Device& device, const GemmProblem& problem,
                                              std::string_view plan) {
  return prepare_short_k(
      device, problem,
      plan_called(plan, "short_k", short_k_plan_candidates(problem, device.properties())));
}

std::vector<GemmPlan> short_k_mma_plans(const GemmProblem& problem,
                                        const DeviceProperties& device) {
  return plans_of(short_k_mma_plan_candidates(problem, device));
}

std::vector<double> short_k_mma_plan_features(const GemmProblem& problem,
                                              const DeviceProperties& device,
                                              std::string_view plan) {
  if (!has_measured_extents(problem)) return {};
  return in_one_list(timed_features(
      problem, plan_called(plan, "short_k_mma", short_k_mma_plan_candidates(problem, device)),
      device.sm_count));
}

std::unique_ptr<GemmRun> prepare_short_k_mma_plan(Device& device, const GemmProblem& problem,
                                                  std::string_view plan) {
  return prepare_short_k_mma(
      device, problem,
      plan_called(plan, "short_k_mma", short_k_mma_plan_candidates(problem, device.properties())));
}

std::vector<GemmPlan> small_products_plans(const GemmProblem& problem,
                                           const DeviceProperties& device) {
  return plans_of(small_plan_candidates(problem, device));
}

std::unique_ptr<GemmRun> prepare_small_products_plan(Device& device, const GemmProblem& problem,
                                                     std::string_view plan) {
  return prepare_small_products(
      device, problem,
      plan_called(plan, "small_products", small_plan_candidates(problem, device.properties())));
}

}  // namespace tilescope::operations
