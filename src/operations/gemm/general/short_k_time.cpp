#include "operations/gemm/general/short_k_time.hpp"

#include <algorithm>

#include "operations/gemm/operands/chunk_access.hpp"
#include "operations/gemm/problem/time_model.hpp"
#include "operations/rung/kernel_plan.hpp"

namespace tilescope::operations {
namespace {

// For elements of 32 bits. Times: fitted to 1,278 plans of 340 products in fp32
// (docs/results/products_random_h200.md).
constexpr ShortKTile short_k_table[] = {
    {8, 8, 2, 2, 1, 16, 3, 0.55, 0.0526, 0.59, 0.0379},
    {8, 8, 4, 1, 1, 16, 3, 0.55, 0.0526, 0.75, 0.0379},
    {8, 8, 2, 1, 2, 32, 2, 0.50, 0.0350, 0.41, 0.0187},
    {4, 8, 4, 1, 1, 16, 3, 0.00, 0.0346, 0.25, 0.0216},
    {8, 8, 1, 1, 4, 32, 3, 0.65, 0.0155, 0.44, 0.0107},
    {4, 8, 2, 1, 2, 32, 2, 0.00, 0.0234, 0.16, 0.0109},
    {4, 4, 2, 1, 4, 32, 4, 0.00, 0.0101, 0.23, 0.0073},
    {4, 4, 1, 1, 4, 32, 4, 0.16, 0.0068, 0.10, 0.0041},
    {4, 4, 1, 1, 8, 32, 3, 0.00, 0.0105, 0.28, 0.0034},
};

// For elements of 16 bits, which a thread holds in registers on their way, so that two stages are
// enough. Times: fitted to 182 plans of 71 products of up to 1,500 rows and columns and 200 steps.
constexpr ShortKTile narrow_table[] = {
    {4, 8, 4, 1, 2, 32, 2, 0.31, 0.0480, 0.81, 0.0218},
    {4, 8, 2, 1, 4, 64, 2, 0.00, 0.0296, 1.30, 0.0091},
    {4, 4, 2, 1, 4, 64, 2, 0.56, 0.0190, 0.68, 0.0046},
    {4, 4, 1, 1, 8, 64, 2, 0.52, 0.0134, 0.48, 0.0044},
};

// The differences between precisions. Launches are such that times can be compared with those that
// the precision's other kernels expect.
struct Costs {
  double launch;  // microseconds, as what follows
  // Where C is added, for each 1,024 elements of a tile: of a block alone, and of the SM.
  double adding, own_adding;
  // Cycles in which copies of 32 elements of an operand keep an SM from multiplying.
  double of_chunks, of_words, of_turned_words;
  double cutting;  // of an SM's time, for each word that a thread reads for each of its sums
};
constexpr Costs costs_of_fp32{5.475, 0.229, 0.063, 1.18, 3.0, 3.74, 0.0};
constexpr Costs costs_of_tf32{4.39, 0.21, 0.325, 1.18, 3.0, 3.74, 1.52};
constexpr Costs costs_of_16_bits{4.27, 0.0, 0.084, 2.74, 2.74, 1.0, 0.0};

bool is_narrow(Precision precision) {
  return size_of(operand_type(precision)) == 2;
}

const Costs& costs_of(Precision precision) {
  if (is_narrow(precision)) return costs_of_16_bits;
  return precision == Precision::tf32 ? costs_of_tf32 : costs_of_fp32;
}

double cycles_of_copies(const Costs& costs, bool lies_along_k, RowsBy rows) {
  if (lies_along_k) return costs.of_turned_words;
  return rows == RowsBy::chunks ? costs.of_chunks : costs.of_words;
}

}  // namespace

std::span<const ShortKTile> short_k_tiles(Precision precision) {
  if (is_narrow(precision)) return narrow_table;
  return short_k_table;
}

std::int64_t tiles_of(const GemmProblem& problem, const ShortKTile& tile) {
  return groups_of(problem.shape.m, tile.rows()) * groups_of(problem.shape.n, tile.columns()) *
         problem.batch;
}

ShortKTime expected_time(const GemmProblem& problem, const ShortKPlan& plan, int sm_count) {
  constexpr double cycles_of_microsecond = 1755.0, elements = 1024.0;
  const ShortKTile& tile = plan.tile;
  const Costs& costs = costs_of(problem.precision);
  const auto k = double(plan.k_of_part);
  const bool adds_c = problem.beta != 0.0 && plan.splits == 1;
  const double adds = adds_c ? tile.rows() * tile.columns() / elements : 0.0;
  const ChunkAccess access = chunk_access(problem, {});
  const double copies =
      tile.rows() * cycles_of_copies(costs, problem.a.order == Order::row_major, access.a) +
      tile.columns() * cycles_of_copies(costs, problem.b.order == Order::column_major, access.b);
  const double words = tile.thread_m + tile.thread_n, sums = tile.thread_m * tile.thread_n;
  const double products = tile.own_of_k * (1.0 + costs.cutting * words / sums);
  ShortKTime time;
  time.alone = cycles_of_microsecond * (tile.first + tile.of_k * k + costs.adding * adds);
  time.own = cycles_of_microsecond * (tile.own + products * k + costs.own_adding * adds) +
             k * copies / 32.0;
  // Blocks hide each other's waits, or the SM is what they wait for.
  const auto round = [&](std::int64_t blocks) {
    constexpr double power = 3.0;
    if (blocks == 0) return 0.0;
    return overlapped(time.alone, double(blocks) * time.own, power);
  };
  const std::int64_t sms = std::max(1, sm_count), slots = sms * plan.blocks_per_sm;
  const std::int64_t blocks = tiles_of(problem, tile) * plan.splits;
  time.full_rounds = blocks / slots;
  time.last_round = groups_of(blocks % slots, sms);
  if (plan.splits > 1) {
    constexpr double second_launch = 2870.0, cached_bytes_per_cycle = 3260.0;
    const double c_bytes =
        4.0 * double(problem.batch) * double(problem.shape.m) * double(problem.shape.n);
    time.summing = second_launch + 2.0 * plan.splits * c_bytes / cached_bytes_per_cycle;
  }
  time.cycles = cycles_of_microsecond * costs.launch +
                double(time.full_rounds) * round(plan.blocks_per_sm) + round(time.last_round) +
                time.summing;
  return time;
}

}  // namespace tilescope::operations
