#include "operations/gemm/hopper/ffma_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "operations/gemm/hopper/ffma_network.hpp"
#include "operations/gemm/hopper/ffma_time.hpp"
#include "operations/gemm/problem/gemm_constants.hpp"

namespace tilescope::operations {
namespace {

constexpr int group_rows = 8;

// The ways to read an operand: `columns` elements in each row of memory.
std::vector<FfmaSource> sources(const GemmOperand& operand, std::int64_t columns,
                                std::int64_t batch, bool lies_as_tile, bool takes_transposed) {
  constexpr std::int64_t chunk = 4;  // elements
  const bool is_aligned = operand.leading % chunk == 0 && columns % chunk == 0 &&
                          (batch == 1 || operand.batch_stride % chunk == 0);
  if (lies_as_tile && is_aligned) return {FfmaSource::boxes};
  std::vector<FfmaSource> result{FfmaSource::copy};
  // Words are addressed by pitches of 32 bits, in bytes.
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max() / std::int64_t{4};
  if (operand.leading <= most) {
    if (lies_as_tile) result.push_back(FfmaSource::words);
    if (!lies_as_tile && takes_transposed) result.push_back(FfmaSource::transposed_words);
  }
  return result;
}

std::vector<FfmaSource> sources_of_a(const GemmProblem& problem, const FfmaTile& tile) {
  const bool by_columns = problem.a.order == Order::column_major;
  return sources(problem.a, by_columns ? problem.shape.m : problem.shape.k, problem.batch,
                 ffma_a_lies_as_tile(problem, tile), tile.by_steps);
}

std::vector<FfmaSource> sources_of_b(const GemmProblem& problem, const FfmaTile& tile) {
  const bool by_columns = problem.b.order == Order::column_major;
  std::vector<FfmaSource> result =
      sources(problem.b, by_columns ? problem.shape.k : problem.shape.n, problem.batch,
              ffma_b_lies_as_tile(problem), true);
  // Two maps of every second row; a box's rows are at most 256 words.
  constexpr std::int64_t chunk = 4, half_chunk = 2, most_words = 256;
  if (ffma_b_lies_as_tile(problem) && problem.b.leading % chunk == half_chunk &&
      tile.n + chunk <= most_words && (problem.batch == 1 || problem.b.batch_stride % chunk == 0)) {
    result.push_back(FfmaSource::paired_boxes);
  }
  return result;
}

int stages_that_fit(FfmaPlan plan, const DeviceProperties& device) {
  constexpr int most_stages = 6;
  const auto blocks_per_sm = static_cast<std::size_t>(plan.tile.blocks_per_sm());
  const std::size_t room =
      std::min(device.shared_bytes_per_block_optin,
               device.shared_bytes_per_sm / blocks_per_sm - device.reserved_shared_bytes_per_block);
  for (plan.stages = most_stages; plan.stages > 2 && ffma_shared_bytes(plan) > room;) --plan.stages;
  return plan.stages;
}

// The plans of a tile, one for each way to read the operands.
std::vector<FfmaPlan> plans_of_tile(const GemmProblem& problem, const DeviceProperties& device,
                                    const FfmaTile& tile, int splits) {
  std::vector<FfmaPlan> plans;
  for (const FfmaSource a : sources_of_a(problem, tile)) {
    for (const FfmaSource b : sources_of_b(problem, tile)) {
      FfmaPlan plan{.tile = tile, .a = a, .b = b};
      plan.stages = stages_that_fit(plan, device);
      const std::int64_t phases = groups_of(problem.shape.k, ffma_steps);
      plan.phases_of_split = static_cast<int>(groups_of(phases, splits));
      plan.splits = static_cast<int>(groups_of(phases, plan.phases_of_split));
      plan.cycles = expected_time(problem, plan, device.sm_count).cycles;
      plans.push_back(plan);
    }
  }
  return plans;
}

bool is_faster(const FfmaPlan& one, const FfmaPlan& other) {
  return one.cycles < other.cycles;
}

}  // namespace

FfmaPlan ffma_plan(const GemmProblem& problem, const DeviceProperties& device, const FfmaTile& tile,
                   int splits) {
  const std::vector<FfmaPlan> plans = plans_of_tile(problem, device, tile, splits);
  return *std::min_element(plans.begin(), plans.end(), is_faster);
}

std::vector<FfmaPlan> ffma_plan_candidates(const GemmProblem& problem,
                                           const DeviceProperties& device) {
  std::vector<FfmaPlan> plans;
  for (const FfmaTile& tile : ffma_tiles()) {
    const std::int64_t slots = std::int64_t{device.sm_count} * tile.blocks_per_sm();
    const std::int64_t most = std::clamp<std::int64_t>(
        groups_of(problem.shape.k, ffma_steps) / 4, 1,
        std::max<std::int64_t>(1, 2 * slots / ffma_tiles_of(problem, tile)));
    // Large numbers of parts differ little from their neighbours.
    for (int splits = 1; splits <= most; splits += 1 + splits / 4) {
      const std::vector<FfmaPlan> more = plans_of_tile(problem, device, tile, splits);
      plans.insert(plans.end(), more.begin(), more.end());
    }
  }
  std::stable_sort(plans.begin(), plans.end(), is_faster);
  if (!has_measured_extents(problem)) return plans;
  rank_first_again(plans, 0.0, [&](const FfmaPlan& plan) {
    return ffma_network.measured_over_expected(
        timed_features(problem, plan, device.sm_count).features);
  });
  return plans;
}

FfmaPlan best_ffma_plan(const GemmProblem& problem, const DeviceProperties& device) {
  return ffma_plan_candidates(problem, device).front();
}

Launch ffma_launch(const GemmProblem& problem, const FfmaPlan& plan) {
  GemmProblem one = problem;
  one.batch = 1;
  Launch launch =
      flat_launch(ffma_tiles_of(one, plan.tile), plan.tile.threads(), ffma_shared_bytes(plan));
  launch.grid.y = static_cast<std::uint32_t>(plan.splits);
  launch.grid.z = static_cast<std::uint32_t>(problem.batch);
  return launch;
}

namespace {

// The kernel's value; the kernel does not know copies.
int value_of(FfmaSource source) {
  return static_cast<int>(source == FfmaSource::copy ? FfmaSource::boxes : source);
}

}  // namespace

Defines ffma_constants(const GemmProblem& problem, const FfmaPlan& plan) {
  const FfmaTile& tile = plan.tile;
  Defines defines = epilogue_constants(problem);
  for (const auto& [name, value] : {std::pair{"BM", tile.m},
                                    {"BN", tile.n},
                                    {"RM", tile.thread_m},
                                    {"RN", tile.thread_n},
                                    {"LANES_DOWN", tile.lanes_down},
                                    {"SLICES", tile.slices},
                                    {"STAGES", plan.stages},
                                    {"QUADS_AT_ONCE", tile.quads_at_once},
                                    {"GROUP", group_rows},
                                    {"A_BY_STEPS", int{tile.by_steps}},
                                    {"A_SOURCE", value_of(plan.a)},
                                    {"B_SOURCE", value_of(plan.b)},
                                    {"SPLIT", int{plan.splits > 1}},
                                    {"BLOCKS_PER_SM", tile.blocks_per_sm()}}) {
    defines.push_back(define(name, value));
  }
  return defines;
}

std::vector<std::string> ffma_options() {
  // Without this the assembler reorders the products.
  return {"--ptxas-options=-O1"};
}

}  // namespace tilescope::operations
