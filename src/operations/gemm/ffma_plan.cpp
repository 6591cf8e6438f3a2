#include "operations/gemm/ffma_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "operations/gemm/constants.hpp"

namespace tilescope::operations {
namespace {

constexpr int phase = 32;  // steps of k in one buffer
constexpr int group_rows = 8;

// Rates: measured on an H200 (docs/results/products_h200.md); 128 would be every unit in every
// cycle.
constexpr std::array<FfmaTile, 5> tiles{{
    {256, 128, 16, 8, 4, 1, 4, 8, true, false, {103, 0, 0}},
    {128, 128, 16, 8, 4, 1, 4, 8, true, true, {60, 100, 0}},
    {128, 64, 8, 8, 4, 2, 4, 8, true, true, {88, 0, 0}},
    {128, 256, 8, 16, 8, 1, 4, 8, false, false, {90, 0, 0}},
    {16, 256, 8, 8, 2, 4, 4, 8, false, true, {70, 0, 0}},
}};

std::int64_t tiles_of(const GemmProblem& problem, const FfmaTile& tile) {
  return groups_of(problem.shape.m, tile.m) * groups_of(problem.shape.n, tile.n) * problem.batch;
}

}  // namespace

int FfmaTile::threads() const {
  const int warps = m / (lanes_down * thread_m) * (n / (32 / lanes_down * thread_n)) * slices;
  return 32 * (warps + copiers);
}

std::size_t FfmaTile::stage_bytes() const {
  constexpr std::size_t barriers = 16;
  return static_cast<std::size_t>((m + n) * phase) * sizeof(float) + barriers;
}

std::string FfmaTile::text() const {
  return fmt::format("{}x{}", m, n);
}

std::span<const FfmaTile> ffma_tiles() {
  return tiles;
}

std::size_t ffma_shared_bytes(const FfmaPlan& plan) {
  return static_cast<std::size_t>(plan.stages) * plan.tile.stage_bytes();
}

FfmaPlan ffma_plan(const GemmProblem& problem, const DeviceProperties& device, const FfmaTile& tile,
                   int splits) {
  const MatmulShape& s = problem.shape;
  const std::int64_t phases = groups_of(s.k, phase);
  FfmaPlan plan{.tile = tile};
  const bool by_columns = problem.a.order == Order::column_major;
  plan.copies_a = tile.by_steps != by_columns;
  plan.copies_b = problem.b.order == Order::column_major;
  constexpr int most_stages = 6;
  const auto blocks_per_sm = static_cast<std::size_t>(tile.blocks_per_sm());
  const std::size_t room =
      std::min(device.shared_bytes_per_block_optin,
               device.shared_bytes_per_sm / blocks_per_sm - device.reserved_shared_bytes_per_block);
  for (plan.stages = most_stages; plan.stages > 2 && ffma_shared_bytes(plan) > room;) --plan.stages;
  plan.phases_of_split = static_cast<int>(groups_of(phases, splits));
  plan.splits = static_cast<int>(groups_of(phases, plan.phases_of_split));

  // Rounds of as many blocks as the SMs hold, then the rest, which share the SMs evenly.
  const double sms = std::max(1, device.sm_count);
  const std::int64_t blocks = tiles_of(problem, tile) * plan.splits;
  const auto slots = static_cast<std::int64_t>(sms) * tile.blocks_per_sm();
  constexpr double start = 2000.0;  // first copies, barriers, sums to memory; hidden by neighbours
  const double steps = double(plan.phases_of_split) * phase;
  const double work = double(tile.m) * tile.n * steps;
  const auto round = [&](std::int64_t resident) {
    return start + double(resident) * work / tile.rates[static_cast<std::size_t>(resident - 1)];
  };
  const auto rest = groups_of(blocks % slots, static_cast<std::int64_t>(sms));
  plan.cycles = double(blocks / slots) * round(tile.blocks_per_sm()) + (rest > 0 ? round(rest) : 0);

  // What must come from memory at least, at about 2,300 bytes a cycle.
  constexpr double bytes_per_cycle = 2300.0;
  const double batch = double(problem.batch);
  const double operands = 4.0 * batch * (double(s.m) * double(s.k) + double(s.k) * double(s.n));
  plan.cycles = std::max(plan.cycles, operands / bytes_per_cycle);
  // An operand that is turned is read and written once more, by a launch of its own.
  const auto turn = [&](std::int64_t rows, std::int64_t columns) {
    constexpr double launch = 3000.0, copied_bytes_per_cycle = 1950.0;
    plan.cycles += launch + 8.0 * batch * double(rows) * double(columns) / copied_bytes_per_cycle;
  };
  if (plan.copies_a) turn(s.m, s.k);
  if (plan.copies_b) turn(s.k, s.n);
  if (plan.splits > 1) {
    // Partial sums are written and read once, mostly in the L2 cache, by a second launch.
    constexpr double launch = 3000.0, cached_bytes_per_cycle = 3000.0;
    plan.cycles +=
        launch + 8.0 * batch * plan.splits * double(s.m) * double(s.n) / cached_bytes_per_cycle;
  }
  return plan;
}

FfmaPlan best_ffma_plan(const GemmProblem& problem, const DeviceProperties& device) {
  FfmaPlan best;
  for (const FfmaTile& tile : ffma_tiles()) {
    const std::int64_t slots = std::int64_t{device.sm_count} * tile.blocks_per_sm();
    const std::int64_t most =
        std::clamp<std::int64_t>(groups_of(problem.shape.k, phase) / 4, 1,
                                 std::max<std::int64_t>(1, 2 * slots / tiles_of(problem, tile)));
    for (int splits = 1; splits <= most; ++splits) {
      const FfmaPlan plan = ffma_plan(problem, device, tile, splits);
      if (best.phases_of_split == 0 || plan.cycles < best.cycles) best = plan;
    }
  }
  return best;
}

Launch ffma_launch(const GemmProblem& problem, const FfmaPlan& plan) {
  GemmProblem one = problem;
  one.batch = 1;
  Launch launch =
      flat_launch(tiles_of(one, plan.tile), plan.tile.threads(), ffma_shared_bytes(plan));
  launch.grid.y = static_cast<std::uint32_t>(plan.splits);
  launch.grid.z = static_cast<std::uint32_t>(problem.batch);
  return launch;
}

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
                                    {"COPIERS", tile.copiers},
                                    {"UNROLL", tile.unroll},
                                    {"GROUP", group_rows},
                                    {"A_BY_STEPS", int{tile.by_steps}},
                                    {"ALONG_ROWS", int{tile.along_rows}},
                                    {"SPLIT", int{plan.splits > 1}},
                                    {"BLOCKS_PER_SM", tile.blocks_per_sm()}}) {
    defines.push_back(define(name, value));
  }
  return defines;
}

}  // namespace tilescope::operations
