#include "operations/gemm/hopper/tensor_tile_choice.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <utility>

#include "operations/gemm/hopper/tensor_tile_layout.hpp"
#include "operations/gemm/hopper/tensor_tile_network.hpp"
#include "operations/gemm/hopper/tensor_tile_time.hpp"
#include "operations/rung/kernel_plan.hpp"

namespace tilescope::operations {
namespace {

// The tile with every combination of copied operands: operands that it could read in place are
// copied too, where that might pay.
std::vector<TensorTile> with_copies(const TensorTile& tile, const TileLayout& layout) {
  const auto may_pay = [&](const TileOperand& operand) {
    return tile.splits == 1 && comes_in_pieces(operand);
  };
  std::vector<TensorTile> ways;
  for (const bool copies_a : {false, true}) {
    for (const bool copies_b : {false, true}) {
      if ((copies_a && (!may_pay(layout.a) || layout.a_begins_anywhere)) ||
          (copies_b && !may_pay(layout.b))) {
        continue;
      }
      ways.push_back(tile);
      ways.back().copies_a = copies_a;
      ways.back().copies_b = copies_b;
    }
  }
  return ways;
}

// A thread's.
int sums_of(const TensorTile& tile) {
  return tile.m / 64 / (tile.in_turn ? 1 : tile.consumers) * tile.n / 2;
}

// Whether the sums of a consumer's part of a tile fit in its threads' registers, of which each of
// three consumers has fewer, and are promoted beside products.
bool sums_fit(const TensorTile& tile, const GemmProblem& problem) {
  // One consumer promotes while another multiplies.
  if (tile.in_turn && promotes_sums(problem)) return false;
  const int sums = sums_of(tile) + (promotes_sums(problem) ? tile.n / 2 : 0);
  return sums <= (tile.consumers == 3 ? 96 : 192);
}

// Tiles that keep the sums of a warpgroup within the registers.
std::vector<TensorTile> shapes(const GemmProblem& problem) {
  std::vector<TensorTile> tiles;
  for (const auto& [m, n] :
       {std::pair{128, 256}, std::pair{256, 128}, std::pair{128, 192}, std::pair{128, 128},
        std::pair{128, 64}, std::pair{256, 192}, std::pair{256, 64}}) {
    tiles.push_back({.m = m, .n = n, .consumers = 2});
  }
  for (const int n : {192, 128, 64}) tiles.push_back({.m = 192, .n = n, .consumers = 3});
  for (const auto& [m, n] : {std::pair{128, 128}, std::pair{64, 256}, std::pair{64, 192},
                             std::pair{64, 128}, std::pair{64, 64}}) {
    tiles.push_back({.m = m, .n = n, .consumers = 2, .in_turn = true});
  }
  for (const int n : {256, 192, 128, 64}) tiles.push_back({.m = 64, .n = n, .consumers = 1});
  std::erase_if(tiles, [&](const TensorTile& tile) { return !sums_fit(tile, problem); });
  return tiles;
}

// The heights of tiles whose width may be any multiple of 16, and how they are multiplied.
struct Height {
  int m, consumers;
  bool in_turn = false;
};
constexpr std::array<Height, 5> heights{{{64, 1}, {128, 2}, {128, 2, true}, {192, 3}, {256, 2}}};
constexpr int least_width = 48, most_width = 256, width_step = 16;

// Tiles of other widths, whose last box of C is narrow: one of them divides C with little left
// over.
std::vector<TensorTile> narrow_ended_shapes(const GemmProblem& problem) {
  std::vector<TensorTile> tiles;
  for (const auto& [m, consumers, in_turn] : heights) {
    for (int n = least_width; n <= most_width; n += width_step) {
      const TensorTile tile{.m = m, .n = n, .consumers = consumers, .in_turn = in_turn};
      if (tail_columns_of(tile, problem.c.type) > 0 && sums_fit(tile, problem)) {
        tiles.push_back(tile);
      }
    }
  }
  return tiles;
}

// Sets the number of stages; false if too few fit, or if the sums leave too few registers to what
// the threads fetch of C.
bool fit(TensorTile& tile, const GemmProblem& problem, const TileLayout& layout,
         const DeviceProperties& device) {
  constexpr int most_stages = 8, least_stages = 2;
  const bool has_narrow_end = tail_columns_of(tile, problem.c.type) > 0;
  const int most_sums = tile.consumers == 3 ? 64 : has_narrow_end ? 128 : 160;
  if (layout.adds_rows && sums_of(tile) > most_sums) return false;
  tile.stages = most_stages;
  while (tile.stages >= least_stages &&
         shared_bytes_of(tile, layout, problem.c.type) > device.shared_bytes_per_block_optin) {
    --tile.stages;
  }
  return tile.stages >= least_stages && received_fits(tile, layout, problem.c.type);
}

// Blocks of a cluster one below the other, and side by side.
constexpr std::array<std::pair<int, int>, 10> rectangles{
    {{1, 1}, {2, 1}, {4, 1}, {8, 1}, {1, 2}, {2, 2}, {4, 2}, {1, 4}, {2, 4}, {1, 8}}};

// Whether most blocks of the tile's cluster have a tile of C to compute.
bool is_filled(const TensorTile& tile, const GemmProblem& problem) {
  const auto has_tiles = [](std::int64_t extent, int of_tile, int blocks) {
    return blocks == 1 || extent > static_cast<std::int64_t>(of_tile) * (blocks / 2);
  };
  return has_tiles(problem.shape.m, tile.m, tile.down()) &&
         has_tiles(problem.shape.n, tile.n, tile.across);
}

// Tiles like this one, whose clusters have layers that store equal parts of a tile each, as far as
// its boxes can be shared out.
std::vector<TensorTile> with_layers(const TensorTile& tile, const GemmProblem& problem,
                                    const TileLayout& layout, int sm_count) {
  constexpr int most_blocks = 8;             // of a cluster
  constexpr std::int64_t least_k_tiles = 2;  // of a layer
  // An H200 holds too few clusters of five and seven.
  const auto is_usual = [](int blocks) { return blocks != 5 && blocks != 7; };
  if (tile.in_turn) return {};
  const std::int64_t rows = groups_of(problem.shape.m, layout.classes);
  const std::int64_t clusters = groups_of(rows, tile.m * tile.down()) * layout.classes *
                                groups_of(problem.shape.n, tile.n * tile.across) * problem.batch;
  std::vector<TensorTile> layered;
  for (int layers = 2; layers * tile.in_layer() <= most_blocks; ++layers) {
    TensorTile more = tile;
    more.layers = layers;
    more.cluster = layers * tile.in_layer();
    if (!is_usual(more.cluster) || clusters > resident_clusters(more, sm_count) ||
        k_tiles_of(problem) < least_k_tiles * layers) {
      continue;
    }
    const std::int64_t boxes_of_rows = boxes_of_rows_of(tile, problem.c.type);
    more.boxes = boxes_of_rows % 2 == 0 && tile.m / 64 * boxes_of_rows >= 2 * layers ? 2 : 1;
    layered.push_back(more);
  }
  return layered;
}

// Transposed tiles that can compute the problem. Their width is not bound to boxes of C, so that
// one of them divides C with little left over; clusters read rows of A once.
std::vector<TensorTile> transposed_tiles(const GemmProblem& problem,
                                         const DeviceProperties& device) {
  if (size_of(problem.a.type) > 2 || size_of(problem.c.type) != 2) return {};
  std::vector<TensorTile> tiles;
  TensorTile tile{.transposed = true};
  const GemmProblem transposed = problem_of(tile, problem);
  const TileLayout layout = layout_of(transposed, tile);
  if (layout.store != Store::boxed) return {};
  for (const auto& [m, consumers, in_turn] : heights) {
    for (int n = least_width; n <= most_width; n += width_step) {
      tile.m = m, tile.n = n, tile.consumers = consumers, tile.in_turn = in_turn;
      if (!sums_fit(tile, problem)) continue;
      for (const auto& [down, across] : rectangles) {
        tile.cluster = down * across;
        tile.across = across;
        if (!is_filled(tile, transposed)) continue;
        tile.boxes = 2;
        if (!fit(tile, problem, layout, device)) continue;
        tiles.push_back(tile);
        for (TensorTile& layered : with_layers(tile, transposed, layout, device.sm_count)) {
          if (fit(layered, problem, layout, device)) tiles.push_back(layered);
        }
        const int stages = tile.stages;
        tile.boxes = 1;  // may leave room for one more stage
        if (fit(tile, problem, layout, device) && tile.stages > stages) tiles.push_back(tile);
      }
    }
  }
  return tiles;
}

std::vector<int> splits_of(const GemmProblem& problem, const TensorTile& tile, int sm_count) {
  const std::int64_t tiles = groups_of(problem.shape.m, tile.m * tile.cluster) * tile.cluster *
                             groups_of(problem.shape.n, tile.n) * problem.batch;
  const std::int64_t k_tiles = groups_of(
      problem.shape.k * static_cast<std::int64_t>(size_of(problem.a.type)), tile_row_bytes);
  constexpr std::int64_t least_k_tiles = 4;  // tiles of k of a part
  std::vector<int> splits{1};
  if (problem.precision == Precision::int8) return splits;  // partial sums are float32
  for (const std::int64_t blocks : {sm_count / 2, sm_count, 2 * sm_count}) {
    const std::int64_t split = std::min(blocks / tiles, k_tiles / least_k_tiles);
    if (split > splits.back()) splits.push_back(static_cast<int>(split));
  }
  return splits;
}

bool is_faster(const TimedTensorTile& one, const TimedTensorTile& other) {
  return one.cycles < other.cycles;
}

}  // namespace

std::optional<TensorTile> best_panel_tile(const GemmProblem& problem,
                                          const DeviceProperties& device) {
  if (promotes_sums(problem)) return std::nullopt;
  TensorTile tile{.m = 64, .n = 256, .consumers = 2, .in_turn = true};
  tile.panel = static_cast<int>(
      std::min<std::int64_t>(k_tiles_of(problem), std::numeric_limits<std::int16_t>::max()));
  for (const int boxes : {4, 2}) {
    tile.boxes = boxes;
    // A of two tiles where k is longest.
    constexpr int least_stages = 8;
    if (fit(tile, problem, layout_of(problem, tile), device) && tile.stages >= least_stages) {
      return tile;
    }
  }
  return std::nullopt;
}

std::vector<TimedTensorTile> timed_tensor_tiles(const GemmProblem& problem,
                                                const DeviceProperties& device) {
  std::vector<TimedTensorTile> candidates;
  const auto add = [&](const TensorTile& tile, const TileLayout& layout) {
    candidates.push_back({tile, expected_time(problem, tile, layout, device.sm_count).cycles});
  };
  if (const auto panel = best_panel_tile(problem, device)) {
    // Only stores by the copy engine hide behind the next tile.
    const TileLayout layout = layout_of(problem, *panel);
    if (layout.store == Store::boxed) add(*panel, layout);
  }
  // More boxes store sooner, fewer leave room for one more stage.
  const auto add_ways = [&](const TensorTile& tile, std::initializer_list<int> numbers_of_boxes) {
    const std::int64_t boxes_of_tile = boxes_of_rows_of(tile, problem.c.type);
    for (TensorTile way : with_copies(tile, layout_of(problem, tile))) {
      const TileLayout layout = layout_of(problem, way);
      std::int64_t at_once = 0;
      for (const int boxes : numbers_of_boxes) {
        const std::int64_t before =
            std::exchange(at_once, std::min<std::int64_t>(boxes, boxes_of_tile));
        if (at_once == before || boxes_of_tile % at_once != 0) continue;
        way.boxes = boxes;
        if (fit(way, problem, layout, device)) add(way, layout);
      }
    }
  };
  for (TensorTile tile : narrow_ended_shapes(problem)) {
    for (const auto& [down, across] : rectangles) {
      tile.cluster = down * across;
      tile.across = across;
      if (is_filled(tile, problem)) add_ways(tile, {2, 3, 4, 1});
    }
  }
  for (TensorTile tile : shapes(problem)) {
    for (const auto& [down, across] : rectangles) {
      tile.cluster = down * across;
      tile.across = across;
      if (!is_filled(tile, problem)) continue;
      for (const int splits : splits_of(problem, tile, device.sm_count)) {
        if (across > 1 && splits > 1) continue;
        tile.splits = splits;
        add_ways(tile, {2, 3, 4});
      }
      // A copy costs more than it gains where there is so little else to do.
      tile.splits = 1;
      const TileLayout layout = layout_of(problem, tile);
      for (TensorTile& layered : with_layers(tile, problem, layout, device.sm_count)) {
        if (fit(layered, problem, layout, device)) add(layered, layout);
      }
    }
  }
  const std::vector<TensorTile> transposed_of = transposed_tiles(problem, device);
  if (!transposed_of.empty()) {
    const GemmProblem transposed = problem_of(transposed_of.front(), problem);
    const TileLayout layout = layout_of(transposed, transposed_of.front());
    for (const TensorTile& tile : transposed_of) {
      candidates.push_back({tile, expected_time(transposed, tile, layout, device.sm_count).cycles});
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(), is_faster);
  const double least_gain = problem.precision == Precision::tf32 ? least_gain_in_tf32 : 0.0;
  rank_first_again(candidates, least_gain, [&](const TimedTensorTile& timed) {
    const TileNetwork* const network = network_for(problem, timed.tile);
    if (network == nullptr) return 1.0;
    const TileFeatures features = timed_features(problem, timed.tile, device.sm_count).features;
    return network->measured_over_expected(features);
  });
  return candidates;
}

std::vector<TensorTile> tensor_tile_candidates(const GemmProblem& problem,
                                               const DeviceProperties& device) {
  std::vector<TensorTile> tiles;
  for (const TimedTensorTile& timed : timed_tensor_tiles(problem, device)) {
    tiles.push_back(timed.tile);
  }
  return tiles;
}

}  // namespace tilescope::operations
