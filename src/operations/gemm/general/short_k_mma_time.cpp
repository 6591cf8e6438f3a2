#include "operations/gemm/general/short_k_mma_time.hpp"

#include <algorithm>

#include "operations/rung/kernel_plan.hpp"

namespace tilescope::operations {
namespace {

// Times: fitted to all plans of 219 products of up to 256 steps. Small tiles of small warps are
// fast where there is one for each SM: the time is that of a thread's instructions.
constexpr ShortKMmaTile short_k_mma_table[] = {{.rows = 64,
                                                .columns = 128,
                                                .warp_rows = 32,
                                                .warp_columns = 32,
                                                .longest_bytes = 256,
                                                .first = 7.50,
                                                .of_k = 0.72,
                                                .adding = 0.80,
                                                .next = 2.07,
                                                .next_of_k = 0.14,
                                                .next_adding = 1.34,
                                                .of_stage = 0.44},
                                               {.rows = 32,
                                                .columns = 128,
                                                .warp_rows = 32,
                                                .warp_columns = 32,
                                                .longest_bytes = 256,
                                                .first = 7.02,
                                                .of_k = 0.74,
                                                .adding = 0.72,
                                                .next = 0.86,
                                                .next_of_k = 0.37,
                                                .next_adding = 0.90,
                                                .of_stage = 0.30},
                                               {.rows = 32,
                                                .columns = 64,
                                                .warp_rows = 16,
                                                .warp_columns = 16,
                                                .longest_bytes = 512,
                                                .first = 6.59,
                                                .of_k = 0.43,
                                                .adding = 0.24,
                                                .next = 0.69,
                                                .next_of_k = 0.31,
                                                .next_adding = 0.37,
                                                .of_stage = 0.37},
                                               {.rows = 32,
                                                .columns = 32,
                                                .warp_rows = 16,
                                                .warp_columns = 16,
                                                .longest_bytes = 256,
                                                .first = 6.44,
                                                .of_k = 0.46,
                                                .adding = 0.29,
                                                .next = 0.39,
                                                .next_of_k = 0.23,
                                                .next_adding = 0.26,
                                                .of_stage = 0.27}};

}  // namespace

std::span<const ShortKMmaTile> short_k_mma_tiles() {
  return short_k_mma_table;
}

ShortKMmaTime expected_time(const GemmProblem& problem, const MmaSyncPlan& plan, int sm_count) {
  constexpr double cycles_of_microsecond = 1755.0, k_unit = 128.0;
  const ShortKMmaTile& tile = *std::find_if(
      std::begin(short_k_mma_table), std::end(short_k_mma_table) - 1,
      [&](const auto& of) { return of.rows == plan.tile.rows && of.columns == plan.tile.columns; });
  const auto k_bytes = problem.shape.k * static_cast<std::int64_t>(size_of(problem.a.type));
  const double k = double(k_bytes) / k_unit, adds = problem.beta != 0.0 ? 1.0 : 0.0;
  ShortKMmaTime time;
  time.stages = groups_of(k_bytes, plan.depth_bytes);
  time.further = groups_of(mma_tiles_of_c(problem, plan.tile), std::max(1, sm_count)) - 1;
  time.first = cycles_of_microsecond * (tile.first + tile.of_k * k + tile.adding * adds +
                                        tile.of_stage * double(time.stages - 1));
  time.next = cycles_of_microsecond * (tile.next + tile.next_of_k * k + tile.next_adding * adds);
  time.cycles = time.first + double(time.further) * time.next;
  return time;
}

}  // namespace tilescope::operations
