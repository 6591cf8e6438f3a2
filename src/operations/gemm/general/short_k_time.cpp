#include "operations/gemm/general/short_k_time.hpp"

#include <algorithm>

#include "operations/gemm/problem/time_model.hpp"
#include "operations/rung/kernel_plan.hpp"

namespace tilescope::operations {
namespace {

// Times: fitted to all plans of 410 products (docs/results/products_random_h200.md).
constexpr ShortKTile short_k_table[] = {
    {8, 8, 2, 2, 1, 16, 3, 1.19, 0.0508, 1.04, 0.0474},
    {8, 8, 2, 1, 2, 32, 2, 0.80, 0.0290, 0.82, 0.0243},
    {4, 8, 4, 1, 1, 16, 3, 0.16, 0.0366, 0.51, 0.0287},
    {8, 8, 1, 1, 4, 32, 3, 0.51, 0.0167, 0.62, 0.0144},
    {4, 8, 2, 1, 2, 32, 2, 0.19, 0.0216, 0.36, 0.0159},
    {4, 4, 2, 1, 4, 32, 4, 0.00, 0.0115, 0.34, 0.0101},
    {4, 4, 1, 1, 4, 32, 4, 0.00, 0.0095, 0.17, 0.0062},
    {4, 4, 1, 1, 8, 32, 3, 0.00, 0.0099, 0.29, 0.0064},
};

}  // namespace

std::span<const ShortKTile> short_k_tiles() {
  return short_k_table;
}

std::int64_t tiles_of(const GemmProblem& problem, const ShortKTile& tile) {
  return groups_of(problem.shape.m, tile.rows()) * groups_of(problem.shape.n, tile.columns()) *
         problem.batch;
}

ShortKTime expected_time(const GemmProblem& problem, const ShortKPlan& plan, int sm_count) {
  constexpr double cycles_of_microsecond = 1755.0, launch = 5.73;
  // Where C is added, for each 1,024 elements of a tile: of a block alone, and of the SM.
  constexpr double adding = 0.242, own_adding = 0.061, elements = 1024.0;
  // The additional part of an SM's time where an operand lies along k, and is turned.
  constexpr double turning_a = 0.064, turning_b = 0.104;
  const ShortKTile& tile = plan.tile;
  const double k = double(problem.shape.k);
  const double adds = problem.beta != 0.0 ? tile.rows() * tile.columns() / elements : 0.0;
  const double turns = 1.0 + (problem.a.order == Order::row_major ? turning_a : 0.0) +
                       (problem.b.order == Order::column_major ? turning_b : 0.0);
  ShortKTime time;
  time.alone = cycles_of_microsecond * (tile.first + tile.of_k * k + adding * adds);
  time.own = cycles_of_microsecond * (tile.own + tile.own_of_k * k * turns + own_adding * adds);
  // Blocks hide each other's waits, or the SM is what they wait for.
  const auto round = [&](std::int64_t blocks) {
    constexpr double power = 3.0;
    if (blocks == 0) return 0.0;
    return overlapped(time.alone, double(blocks) * time.own, power);
  };
  const std::int64_t sms = std::max(1, sm_count), slots = sms * plan.blocks_per_sm;
  const std::int64_t blocks = tiles_of(problem, tile);
  time.full_rounds = blocks / slots;
  time.last_round = groups_of(blocks % slots, sms);
  time.cycles = cycles_of_microsecond * launch +
                double(time.full_rounds) * round(plan.blocks_per_sm) + round(time.last_round);
  return time;
}

}  // namespace tilescope::operations
