#include "operations/gemm/hopper/ffma_tile.hpp"

#include <fmt/format.h>

#include "operations/gemm/problem/gemm_constants.hpp"

namespace tilescope::operations {
namespace {

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
  const std::int64_t words = std::int64_t{plan.tile.m + plan.tile.n + pads} * ffma_steps;
  const std::int64_t alignment = plan.tile.by_steps ? 128 : 1024;
  constexpr std::int64_t word = sizeof(float), barriers = 16;
  const std::int64_t stage = groups_of(words * word, alignment) * alignment + barriers;
  return static_cast<std::size_t>(plan.stages * stage);
}

std::int64_t ffma_tiles_of(const GemmProblem& problem, const FfmaTile& tile) {
  return groups_of(problem.shape.m, tile.m) * groups_of(problem.shape.n, tile.n) * problem.batch;
}

}  // namespace tilescope::operations
