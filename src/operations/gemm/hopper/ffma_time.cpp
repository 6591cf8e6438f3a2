#include "operations/gemm/hopper/ffma_time.hpp"

#include <algorithm>

#include "operations/rung/kernel_plan.hpp"

namespace tilescope::operations {
namespace {

// Cycles that copying a tile's words takes from the warps that multiply.
double cycles_of_words(FfmaSource source, int extent) {
  constexpr double of_words = 3.1, of_transposed_words = 2.76, of_pairs = 0.76;  // per 32 of them
  if (source == FfmaSource::paired_boxes) return of_pairs * extent;
  if (source == FfmaSource::words) return of_words * extent;
  if (source == FfmaSource::transposed_words) return of_transposed_words * extent;
  return 0.0;
}

}  // namespace

// Fitted to thousands of plans of products drawn at random (docs/results/products_random_h200.md).
FfmaTime expected_time(const GemmProblem& problem, const FfmaPlan& plan, int sm_count) {
  const MatmulShape& s = problem.shape;
  const FfmaTile& tile = plan.tile;
  FfmaTime time;
  const std::int64_t sms = std::max(1, sm_count);
  time.blocks = ffma_tiles_of(problem, tile) * plan.splits;
  const std::int64_t slots = sms * tile.blocks_per_sm();
  time.full_rounds = time.blocks / slots;
  time.last_round = groups_of(time.blocks % slots, sms);
  const double work = double(tile.m) * tile.n * ffma_steps;
  time.words = cycles_of_words(plan.a, tile.m) + cycles_of_words(plan.b, tile.n);
  time.step = work / tile.rates[0] + time.words;
  time.ends = 3940.0 + 0.08 * tile.m * tile.n;
  const auto round = [&](std::int64_t resident) {
    if (resident == 0) return 0.0;
    const double alone = time.ends + plan.phases_of_split * time.step;
    if (resident == 1) return alone;
    const double rate = tile.rates[static_cast<std::size_t>(resident - 1)];
    const double together =
        time.ends + double(resident) * plan.phases_of_split * (work / rate + time.words);
    return std::max(alone, together);
  };
  time.busy = double(time.full_rounds) * round(tile.blocks_per_sm()) + round(time.last_round);

  // The least traffic from memory and to it; stores of all blocks at once are slower.
  constexpr double bytes_per_cycle = 2300.0, stored_bytes_per_cycle = 527.0;
  const double batch = double(problem.batch), c_bytes = 4.0 * batch * double(s.m) * double(s.n);
  const double operands = 4.0 * batch * (double(s.m) * double(s.k) + double(s.k) * double(s.n));
  time.memory = operands / bytes_per_cycle + c_bytes / stored_bytes_per_cycle;
  // Where C is added, its reads are hardly hidden.
  constexpr double first_addend = 1170.0, added_bytes_per_cycle = 845.0;
  if (problem.beta != 0.0) time.adding = first_addend + c_bytes / added_bytes_per_cycle;
  // Copied operands are read and written once more, by one launch.
  double copied = 0.0;
  if (plan.a == FfmaSource::copy) copied += double(s.m) * double(s.k);
  if (plan.b == FfmaSource::copy) copied += double(s.k) * double(s.n);
  constexpr double launch_of_copies = 2850.0, copied_bytes_per_cycle = 1655.0;
  if (copied > 0) time.copying = launch_of_copies + 8.0 * batch * copied / copied_bytes_per_cycle;
  if (plan.splits > 1) {
    // Partial sums are written and read once, mostly in the L2 cache, by a second launch.
    constexpr double launch = 1150.0, cached_bytes_per_cycle = 2930.0;
    time.summing = launch + 2.0 * plan.splits * c_bytes / cached_bytes_per_cycle;
  }
  constexpr double launch = 11000.0;  // with the time until the first block runs
  time.cycles =
      launch + std::max(time.busy, time.memory) + time.adding + time.copying + time.summing;
  return time;
}

}  // namespace tilescope::operations
