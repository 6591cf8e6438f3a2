#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tilescope/gpu/roofline.hpp>
#include <tilescope/gpu/tiles.hpp>

#include "base/errors.hpp"

namespace tilescope::gpu {
namespace {

std::int64_t divide_up(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

// An estimate of the cycles that the kernel takes on the busiest SM, good enough to order tiles.
//
// A tile kernel waits for the pipe that serves loads and stores, one wavefront a cycle. In a phase
// every warp makes, for each of the `depth` steps, thread_columns reads of B's tile, and
// thread_rows / 4 reads of A's (the compiler reads four steps at once, 128 bits wide, which takes
// two wavefronts, one for each half-warp: shared_banks.hpp), and it moves its share of both tiles
// from global to shared memory, two accesses an element. Arithmetic needs depth * thread_rows *
// thread_columns FMAs on the FP32 units. A phase cannot be shorter than the way to memory and back,
// which other blocks on the SM hide.
double estimate_cycles(const TilePlan& plan, const DeviceProperties& device) {
  constexpr double memory_latency = 600.0;  // DRAM, and the two barriers around it
  const TileShape& t = plan.tile;
  const double warps = plan.occupancy.warps_per_block;
  const double half_warps = t.threads() <= device.warp_size / 2 ? 1.0 : 2.0;
  const double shared_reads = t.depth * (t.thread_columns + t.thread_rows * half_warps / 4.0);
  const double copies =
      2.0 * double(plan.loads_per_phase) / double(std::max<std::int64_t>(1, t.threads()));
  const double pipe = warps * (shared_reads + copies);
  const int lanes = device.fp32_lanes_per_sm > 0 ? device.fp32_lanes_per_sm : 128;
  const double arithmetic =
      warps * t.depth * t.thread_rows * t.thread_columns * device.warp_size / lanes;
  const double busy = std::max(pipe, arithmetic);

  const std::int64_t sms = std::max(1, device.sm_count);
  const std::int64_t blocks_of_an_sm = divide_up(plan.blocks, sms);
  const std::int64_t resident = plan.occupancy.blocks_per_sm;
  const auto round = [&](std::int64_t blocks) {
    return std::max(double(blocks) * busy, memory_latency + busy);
  };
  const double rounds = double(blocks_of_an_sm / resident) * round(resident) +
                        (blocks_of_an_sm % resident > 0 ? round(blocks_of_an_sm % resident) : 0.0);
  return double(plan.phases) * rounds;
}

void require_shape(const TileShape& tile) {
  const bool positive = tile.rows > 0 && tile.columns > 0 && tile.depth > 0 &&
                        tile.thread_rows > 0 && tile.thread_columns > 0;
  constexpr int widest = 4096;
  if (!positive || tile.rows > widest || tile.columns > widest || tile.depth > widest ||
      tile.rows % tile.thread_rows != 0 || tile.columns % tile.thread_columns != 0) {
    throw usage_error("tile {}: extents are 1 to {}, and a thread's part must divide them",
                      tile.text(), widest);
  }
}

}  // namespace

std::string TileShape::text() const {
  if (is_square()) return fmt::format("{}", rows);
  const std::string block = fmt::format("{}x{}x{}", rows, columns, depth);
  if (thread_rows == 1 && thread_columns == 1) return block;
  return fmt::format("{}/{}x{}", block, thread_rows, thread_columns);
}

TilePlan plan_tile(const TileShape& tile, const DeviceProperties& device,
                   const AllocationUnits& units, std::int64_t registers_per_thread,
                   const std::optional<MatmulShape>& problem) {
  require_shape(tile);
  TilePlan plan;
  plan.tile = tile;
  plan.needs = {.threads = tile.threads(),
                .registers_per_thread = registers_per_thread,
                .shared_bytes = tile.shared_bytes()};
  plan.occupancy = occupancy(plan.needs, device, units);
  plan.loads_per_phase = std::int64_t{tile.depth} * (tile.rows + tile.columns);
  plan.operations_per_phase = std::int64_t{2} * tile.rows * tile.columns * tile.depth;
  plan.operations_per_load = double(plan.operations_per_phase) / double(plan.loads_per_phase);
  plan.pending_loads = plan.occupancy.blocks_per_sm * plan.loads_per_phase;
  plan.pending_loads_by_shared_memory =
      std::max(0, plan.occupancy.by_shared_memory) * plan.loads_per_phase;
  plan.intensity = tile_intensity(tile.rows, tile.columns);
  if (!problem || !plan.possible()) return plan;
  if (problem->m < 1 || problem->n < 1 || problem->k < 1) {
    throw usage_error("a product of {} x {} by {} x {} has nothing to tile", problem->m, problem->k,
                      problem->k, problem->n);
  }
  plan.blocks = divide_up(problem->m, tile.rows) * divide_up(problem->n, tile.columns);
  plan.phases = divide_up(problem->k, tile.depth);
  plan.traffic_bytes =
      4.0 * (double(plan.blocks) * double(plan.phases) * double(plan.loads_per_phase) +
             double(problem->m) * double(problem->n));
  plan.useful_share = problem->flops() / (double(plan.blocks) * double(plan.phases) *
                                          double(plan.operations_per_phase));
  plan.estimated_cycles = estimate_cycles(plan, device);
  return plan;
}

std::optional<std::size_t> best_plan(const std::vector<TilePlan>& plans,
                                     const DeviceProperties& device) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const TilePlan& plan = plans[i];
    if (!plan.possible()) continue;
    if (!best) {
      best = i;
      continue;
    }
    const TilePlan& leader = plans[*best];
    if (plan.phases > 0) {
      if (plan.estimated_cycles < leader.estimated_cycles) best = i;
      continue;
    }
    const auto full = [&](const TilePlan& p) {
      return 2 * p.occupancy.threads_per_sm >= device.max_threads_per_sm;
    };
    // Wider means more reuse; but not at the price of an SM that is mostly idle.
    const bool wider = plan.operations_per_load > leader.operations_per_load;
    if (full(plan) == full(leader) ? wider : full(plan)) best = i;
  }
  return best;
}

}  // namespace tilescope::gpu
