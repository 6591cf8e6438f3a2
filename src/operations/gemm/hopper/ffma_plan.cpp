#include "operations/gemm/hopper/ffma_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "operations/gemm/problem/gemm_constants.hpp"

namespace tilescope::operations {
namespace {

constexpr int phase = 32;  // steps of k in one buffer
constexpr int group_rows = 8;

// Rates: fitted to runs on an H200 (docs/results/products_random_h200.md); 128 would be every unit
// in every cycle.
constexpr std::array<FfmaTile, 11> tiles{{
    {256, 128, 16, 8, 4, 1, 2, true, {114.8, 0, 0}},
    {128, 256, 8, 16, 8, 1, 2, true, {114.4, 0, 0}},
    {128, 128, 16, 8, 4, 1, 2, true, {102.9, 114.4, 0}},
    {128, 64, 8, 8, 4, 2, 4, true, {108.5, 0, 0}},
    {64, 128, 8, 8, 4, 2, 4, true, {110.5, 0, 0}},
    {64, 64, 8, 8, 4, 2, 4, true, {90.8, 106.2, 0}},
    {32, 64, 8, 8, 4, 4, 2, true, {72.1, 105.0, 0}},
    {128, 64, 8, 8, 4, 2, 2, false, {86.9, 0, 0}},
    {64, 64, 8, 8, 4, 4, 2, false, {86.1, 0, 0}},
    {32, 128, 8, 8, 4, 4, 2, false, {82.9, 0, 0}},
    {16, 256, 8, 8, 2, 4, 2, false, {86.9, 0, 0}},
}};

std::int64_t tiles_of(const GemmProblem& problem, const FfmaTile& tile) {
  return groups_of(problem.shape.m, tile.m) * groups_of(problem.shape.n, tile.n) * problem.batch;
}

}  // namespace

int FfmaTile::threads() const {
  const int warps = m / (lanes_down * thread_m) * (n / (32 / lanes_down * thread_n)) * slices;
  constexpr int copiers = 4;
  return 32 * (warps + copiers);
}

std::string FfmaTile::text() const {
  return fmt::format("{}x{}", m, n);
}

std::span<const FfmaTile> ffma_tiles() {
  return tiles;
}

bool ffma_a_lies_as_tile(const GemmProblem& problem, const FfmaTile& tile) {
  return tile.by_steps == (problem.a.order == Order::column_major);
}

bool ffma_b_lies_as_tile(const GemmProblem& problem) {
  return problem.b.order == Order::row_major;
}

// Matches struct Stage of the kernel, with its barriers.
std::size_t ffma_shared_bytes(const FfmaPlan& plan) {
  constexpr int pad = 4;  // words, for each step of a tile that is transposed on its way or of
                          // pairs
  const auto is_padded = [](FfmaSource source) {
    return source == FfmaSource::transposed_words || source == FfmaSource::paired_boxes;
  };
  const int pads = (is_padded(plan.a) ? pad : 0) + (is_padded(plan.b) ? pad : 0);
  const std::int64_t words = std::int64_t{plan.tile.m + plan.tile.n + pads} * phase;
  const std::int64_t alignment = plan.tile.by_steps ? 128 : 1024;
  constexpr std::int64_t word = sizeof(float), barriers = 16;
  const std::int64_t stage = groups_of(words * word, alignment) * alignment + barriers;
  return static_cast<std::size_t>(plan.stages * stage);
}

namespace {
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

// Cycles that copying a tile's words takes from the warps that multiply.
double cycles_of_words(FfmaSource source, int extent) {
  constexpr double of_words = 3.1, of_transposed_words = 2.76, of_pairs = 0.76;  // per 32 of them
  if (source == FfmaSource::paired_boxes) return of_pairs * extent;
  if (source == FfmaSource::words) return of_words * extent;
  if (source == FfmaSource::transposed_words) return of_transposed_words * extent;
  return 0.0;
}

// Fitted to thousands of plans of products drawn at random (docs/results/products_random_h200.md).
double expected_cycles(const GemmProblem& problem, const DeviceProperties& device,
                       const FfmaPlan& plan) {
  const MatmulShape& s = problem.shape;
  const FfmaTile& tile = plan.tile;
  // Rounds of as many blocks as the SMs hold, then the rest, which share the SMs evenly.
  const double sms = std::max(1, device.sm_count);
  const std::int64_t blocks = tiles_of(problem, tile) * plan.splits;
  const auto slots = static_cast<std::int64_t>(sms) * tile.blocks_per_sm();
  const double work = double(tile.m) * tile.n * phase;
  const double words = cycles_of_words(plan.a, tile.m) + cycles_of_words(plan.b, tile.n);
  // The first copies, the sums to memory.
  const double ends = 3940.0 + 0.08 * tile.m * tile.n;
  const auto round = [&](std::int64_t resident) {
    const double alone = ends + plan.phases_of_split * (work / tile.rates[0] + words);
    if (resident == 1) return alone;
    const double rate = tile.rates[static_cast<std::size_t>(resident - 1)];
    const double together = ends + double(resident) * plan.phases_of_split * (work / rate + words);
    return std::max(alone, together);
  };
  const auto rest = groups_of(blocks % slots, static_cast<std::int64_t>(sms));
  double cycles =
      double(blocks / slots) * round(tile.blocks_per_sm()) + (rest > 0 ? round(rest) : 0);

  // The least traffic from memory and to it; stores of all blocks at once are slower.
  constexpr double bytes_per_cycle = 2300.0, stored_bytes_per_cycle = 527.0;
  const double batch = double(problem.batch), c_bytes = 4.0 * batch * double(s.m) * double(s.n);
  const double operands = 4.0 * batch * (double(s.m) * double(s.k) + double(s.k) * double(s.n));
  cycles = std::max(cycles, operands / bytes_per_cycle + c_bytes / stored_bytes_per_cycle);
  // Where C is added, its reads are hardly hidden.
  constexpr double first_addend = 1170.0, added_bytes_per_cycle = 845.0;
  if (problem.beta != 0.0) cycles += first_addend + c_bytes / added_bytes_per_cycle;
  // Copied operands are read and written once more, by one launch.
  double copied = 0.0;
  if (plan.a == FfmaSource::copy) copied += double(s.m) * double(s.k);
  if (plan.b == FfmaSource::copy) copied += double(s.k) * double(s.n);
  constexpr double launch_of_copies = 2850.0, copied_bytes_per_cycle = 1655.0;
  if (copied > 0) cycles += launch_of_copies + 8.0 * batch * copied / copied_bytes_per_cycle;
  if (plan.splits > 1) {
    // Partial sums are written and read once, mostly in the L2 cache, by a second launch.
    constexpr double launch = 1150.0, cached_bytes_per_cycle = 2930.0;
    cycles += launch + 2.0 * plan.splits * c_bytes / cached_bytes_per_cycle;
  }
  constexpr double launch = 11000.0;  // with the time until the first block runs
  return launch + cycles;
}

}  // namespace

namespace {

// The plans of a tile, one for each way to read the operands.
std::vector<FfmaPlan> plans_of_tile(const GemmProblem& problem, const DeviceProperties& device,
                                    const FfmaTile& tile, int splits) {
  std::vector<FfmaPlan> plans;
  for (const FfmaSource a : sources_of_a(problem, tile)) {
    for (const FfmaSource b : sources_of_b(problem, tile)) {
      FfmaPlan plan{.tile = tile, .a = a, .b = b};
      plan.stages = stages_that_fit(plan, device);
      const std::int64_t phases = groups_of(problem.shape.k, phase);
      plan.phases_of_split = static_cast<int>(groups_of(phases, splits));
      plan.splits = static_cast<int>(groups_of(phases, plan.phases_of_split));
      plan.cycles = expected_cycles(problem, device, plan);
      plans.push_back(plan);
    }
  }
  return plans;
}

const FfmaPlan& fastest(const std::vector<FfmaPlan>& plans) {
  return *std::min_element(plans.begin(), plans.end(), [](const auto& one, const auto& other) {
    return one.cycles < other.cycles;
  });
}

}  // namespace

FfmaPlan ffma_plan(const GemmProblem& problem, const DeviceProperties& device, const FfmaTile& tile,
                   int splits) {
  return fastest(plans_of_tile(problem, device, tile, splits));
}

std::vector<FfmaPlan> ffma_plan_candidates(const GemmProblem& problem,
                                           const DeviceProperties& device) {
  std::vector<FfmaPlan> plans;
  for (const FfmaTile& tile : ffma_tiles()) {
    const std::int64_t slots = std::int64_t{device.sm_count} * tile.blocks_per_sm();
    const std::int64_t most =
        std::clamp<std::int64_t>(groups_of(problem.shape.k, phase) / 4, 1,
                                 std::max<std::int64_t>(1, 2 * slots / tiles_of(problem, tile)));
    // Large numbers of parts differ little from their neighbours.
    for (int splits = 1; splits <= most; splits += 1 + splits / 4) {
      const std::vector<FfmaPlan> more = plans_of_tile(problem, device, tile, splits);
      plans.insert(plans.end(), more.begin(), more.end());
    }
  }
  return plans;
}

FfmaPlan best_ffma_plan(const GemmProblem& problem, const DeviceProperties& device) {
  return fastest(ffma_plan_candidates(problem, device));
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
