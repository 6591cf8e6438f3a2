// Chooses the tile that computes a problem fastest, by a model of a persistent block's time.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "operations/gemm/hopper/register_operand.hpp"
#include "operations/gemm/hopper/register_tile_network.hpp"
#include "operations/gemm/hopper/register_tile_time.hpp"
#include "operations/gemm/hopper/tensor_tile_network.hpp"
#include "operations/gemm/networks/product_features.hpp"
#include "operations/rung/kernel_plan.hpp"

namespace tilescope::operations {
namespace {

constexpr std::int64_t tile_k = 32;

// Tiles that keep the sums of a thread within 128 registers; in a draw the first wins.
std::vector<RegisterTile> shapes() {
  using enum RegisterPair;
  std::vector<RegisterTile> tiles{{.m = 256, .products = 1, .consumers = 2},
                                  {.m = 256, .products = 1, .consumers = 2, .pair = shares_a},
                                  {.m = 256, .products = 1, .consumers = 2, .pair = shares_b},
                                  {.m = 128, .products = 2, .consumers = 2},
                                  {.m = 256, .products = 1, .consumers = 1},
                                  {.m = 64, .products = 1, .consumers = 2},
                                  {.m = 64, .products = 1, .consumers = 2, .pair = shares_b},
                                  {.m = 128, .products = 1, .consumers = 2, .pair = shares_c}};
  for (const int consumers : {2, 1}) {
    for (const int m : {128, 64, 32, 16}) {
      tiles.push_back({.m = m, .products = 1, .consumers = consumers});
    }
  }
  for (const int m : {64, 32, 16}) {
    for (const int consumers : {1, 2}) {
      tiles.push_back({.m = m, .products = 2, .consumers = consumers});
    }
  }
  return tiles;
}

std::vector<int> splits_of(const GemmProblem& problem, const RegisterTile& tile, int sm_count) {
  if (tile.pair == RegisterPair::shares_c) return {1};
  const std::int64_t tiles = tiles_of(problem, tile, layout_of(problem, tile));
  constexpr std::int64_t least_k_tiles = 4;  // tiles of k of a part
  std::vector<int> splits{1};
  for (const std::int64_t blocks : {sm_count / 2, sm_count, 2 * sm_count}) {
    const std::int64_t split =
        std::min(blocks / tiles, groups_of(problem.shape.k, tile_k) / least_k_tiles);
    if (split > splits.back()) splits.push_back(static_cast<int>(split));
  }
  return splits;
}

// With more boxes in flight small tiles of pairs are slower.
int most_stages(const RegisterTile& tile, const RegisterLayout& layout) {
  if (tile.pair == RegisterPair::shares_b && tile.m == 64) return 7;
  if (tile.pair == RegisterPair::shares_c && layout.b_classes > 1) return 4;
  return 12;
}

// Whether the other block of a pair would have work.
bool has_partner(const GemmProblem& problem, const RegisterTile& tile) {
  const MatmulShape& s = problem.shape;
  switch (tile.pair) {
    case RegisterPair::none:
      return true;
    case RegisterPair::shares_a:
      return s.n > tile.n();
    case RegisterPair::shares_b:
      return groups_of(s.m, layout_of(problem, tile).a_classes) > tile.m;
    case RegisterPair::shares_c:
      return s.k >= 8 * tile_k;
  }
  return false;
}

}  // namespace

std::string text_of(const RegisterTile& tile) {
  std::string text = fmt::format("{}x{}x{}", tile.m, tile.n(), tile.stages);
  switch (tile.pair) {
    case RegisterPair::none:
      break;
    case RegisterPair::shares_b:
      text += " shares B";
      break;
    case RegisterPair::shares_a:
      text += " shares A";
      break;
    case RegisterPair::shares_c:
      text += " shares C";
      break;
  }
  if (tile.splits > 1) text += fmt::format(" split {}", tile.splits);
  if (tile.transposed) text += " transposed";
  return text;
}

std::vector<TimedRegisterTile> timed_register_tiles(const GemmProblem& problem,
                                                    const DeviceProperties& device) {
  std::vector<TimedRegisterTile> candidates;
  // Rows of a class are neighbours in columns of C no longer: they would be stored one by one.
  const auto add = [&](const GemmProblem& tiled, bool is_transposed) {
    if (tiled.b.order != Order::row_major) return;
    const bool a_has_classes =
        !is_transposed && layout_of(tiled, {.a_by_class = true}).a_classes > 1;
    for (RegisterTile tile : shapes()) {
      tile.transposed = is_transposed;
      for (const bool by_class : {false, true}) {
        tile.a_by_class = by_class;
        if ((by_class && !a_has_classes) || !has_partner(tiled, tile)) continue;
        const RegisterLayout layout = layout_of(tiled, tile);
        for (const int splits : splits_of(tiled, tile, device.sm_count)) {
          tile.splits = splits;
          tile.stages = most_stages(tile, layout);
          while (shared_bytes_of(tile, layout) > device.shared_bytes_per_block_optin) {
            --tile.stages;
          }
          const RegisterTime time = expected_time(tiled, tile, layout, device.sm_count);
          candidates.push_back({tile, time.cycles});
        }
      }
    }
  };
  add(problem, false);
  add(transposed(problem), true);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& one, const auto& other) { return one.cycles < other.cycles; });
  if (!has_measured_extents(problem)) return candidates;
  rank_first_again(candidates, least_gain_in_tf32, [&](const TimedRegisterTile& timed) {
    return register_network.measured_over_expected(
        timed_features(problem, timed.tile, device.sm_count).features);
  });
  return candidates;
}

std::vector<RegisterTile> register_tile_candidates(const GemmProblem& problem,
                                                   const DeviceProperties& device) {
  std::vector<RegisterTile> tiles;
  for (const TimedRegisterTile& timed : timed_register_tiles(problem, device)) {
    tiles.push_back(timed.tile);
  }
  return tiles;
}

}  // namespace tilescope::operations
