// The networks that rank the first tiles of tensor_tiles and register_operand once more.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "operations/gemm/hopper/register_tile_network.hpp"
#include "operations/gemm/hopper/tensor_tile_choice.hpp"
#include "operations/gemm/hopper/tensor_tile_network.hpp"
#include "operations/gemm/networks/product_features.hpp"
#include "support/gemm_kernels.hpp"
#include "support/plan_factors.hpp"
#include "support/tensor_products.hpp"

namespace tilescope::operations {
namespace {

using testing::expect_a_factor;
using testing::hopper;
using testing::tensor_product;

const std::vector<MatmulShape> known_shapes{
    {64, 64, 16},       {1000, 1000, 1000}, {4096, 4096, 4096}, {128, 8192, 16384},
    {4095, 4097, 4099}, {712, 1856, 3784},  {6024, 2640, 40}};

double model_alone(const GemmProblem& problem, const TensorTile& tile) {
  return timed_features(problem, tile, hopper().sm_count).cycles;
}

TEST(TileNetwork, HasAFactorForEveryTileOfAKnownProduct) {
  for (const Precision precision : {Precision::bf16, Precision::tf32}) {
    for (const MatmulShape& s : known_shapes) {
      const GemmProblem problem = tensor_product(s.m, s.n, s.k, precision);
      for (const auto& [tile, cycles] : timed_tensor_tiles(problem, hopper())) {
        const TileNetwork* const network = network_for(problem, tile);
        if (network == nullptr) continue;
        SCOPED_TRACE(text_of(tile));
        expect_a_factor(*network, timed_features(problem, tile, hopper().sm_count).features);
      }
    }
  }
}

TEST(RegisterNetwork, HasAFactorForEveryTileOfAKnownProduct) {
  for (const MatmulShape& s : known_shapes) {
    const GemmProblem problem = tensor_product(s.m, s.n, s.k, Precision::tf32);
    for (const auto& [tile, cycles] : timed_register_tiles(problem, hopper())) {
      SCOPED_TRACE(text_of(tile));
      expect_a_factor(register_network, timed_features(problem, tile, hopper().sm_count).features);
    }
  }
}

// They judge nothing that was never measured.
TEST(TileNetwork, KnowsProductsLikeThoseItWasTrainedOn) {
  const TensorTile tile, panel{.panel = 4};
  const auto of = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return network_for(tensor_product(m, n, k), tile);
  };
  EXPECT_EQ(of(64, 16384, 16), &tile_network);
  EXPECT_EQ(network_for(tensor_product(64, 16384, 16), panel), nullptr);
  EXPECT_EQ(of(63, 4096, 4096), nullptr);
  EXPECT_EQ(of(4096, 63, 4096), nullptr);
  EXPECT_EQ(of(4096, 4096, 8), nullptr);
  EXPECT_EQ(of(1032, 4096, 16392), nullptr);
  EXPECT_EQ(of(1032, 16392, 4096), nullptr);
  GemmProblem to_float = tensor_product(4096, 4096, 4096);
  to_float.c.type = DataType::float32;
  EXPECT_EQ(network_for(to_float, tile), nullptr);
  EXPECT_EQ(network_for(tensor_product(4096, 4096, 4096, Precision::fp8_e4m3), tile), nullptr);
}

TEST(TileNetwork, KnowsLongProductsOfFewRowsOrColumns) {
  const TensorTile tile;
  const auto of = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return network_for(tensor_product(m, n, k), tile);
  };
  EXPECT_EQ(of(1024, 40960, 32768), &tile_network);
  EXPECT_EQ(of(40960, 1024, 32768), &tile_network);
  EXPECT_EQ(of(1024, 40968, 4096), nullptr);
  EXPECT_EQ(of(1024, 4096, 32776), nullptr);
}

TEST(RegisterNetwork, KnowsProductsLikeThoseItWasTrainedOn) {
  const auto is_known = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    const GemmProblem problem = tensor_product(m, n, k, Precision::tf32);
    const bool known = has_measured_extents(problem);
    EXPECT_EQ(network_for(problem, {}), known ? &tile_network_tf32 : nullptr);
    return known;
  };
  EXPECT_TRUE(is_known(64, 8192, 16));
  EXPECT_TRUE(is_known(2048, 4096, 4096));
  EXPECT_FALSE(is_known(4096, 4096, 4096));  // too large
  EXPECT_FALSE(is_known(64, 8200, 16));
  EXPECT_FALSE(is_known(63, 4096, 64));
  EXPECT_FALSE(is_known(64, 4096, 8));
}

// The first tiles have other places than the model gives them, no tile is lost, and those behind
// stay behind in the model's order.
TEST(TileNetwork, RanksTheFirstTilesOnceMore) {
  bool any_moved = false;
  for (const MatmulShape& s : known_shapes) {
    SCOPED_TRACE(s.m);
    const GemmProblem problem = tensor_product(s.m, s.n, s.k);
    const std::vector<TimedTensorTile> tiles = timed_tensor_tiles(problem, hopper());
    std::vector<double> expected;
    for (const TimedTensorTile& timed : tiles) {
      expected.push_back(model_alone(problem, timed.tile));
    }
    EXPECT_TRUE(std::is_sorted(tiles.begin(), tiles.end(), [](const auto& one, const auto& other) {
      return one.cycles < other.cycles;
    }));
    std::vector<double> in_order = expected;
    std::sort(in_order.begin(), in_order.end());
    in_order.erase(std::unique(in_order.begin(), in_order.end()), in_order.end());
    ASSERT_GT(in_order.size(), 8u);
    const auto behind = static_cast<std::ptrdiff_t>(std::count_if(
        expected.begin(), expected.end(), [&](double cycles) { return cycles < in_order.at(8); }));
    any_moved |= !std::is_sorted(expected.begin(), expected.begin() + behind);
    EXPECT_EQ(*std::max_element(expected.begin(), expected.begin() + behind), in_order.at(7));
    EXPECT_TRUE(std::is_sorted(expected.begin() + behind, expected.end()));
  }
  EXPECT_TRUE(any_moved);
}

TEST(TileNetwork, LeavesOtherProductsToTheModel) {
  for (const GemmProblem& problem :
       {tensor_product(16, 8192, 8192), tensor_product(4096, 4096, 4096, Precision::tf32)}) {
    for (const auto& [tile, cycles] : timed_tensor_tiles(problem, hopper())) {
      EXPECT_EQ(cycles, model_alone(problem, tile));
    }
  }
  const GemmProblem large = tensor_product(4096, 4096, 4096, Precision::tf32);
  for (const auto& [tile, cycles] : timed_register_tiles(large, hopper())) {
    EXPECT_EQ(cycles, timed_features(large, tile, hopper().sm_count).cycles);
  }
}

struct Timed {
  int name = 0;
  double cycles = 0.0;
};

std::vector<int> names_ranked(double least_gain, double factor_of_second) {
  std::vector<Timed> plans;
  for (int name = 0; name < 12; ++name) plans.push_back({name, 100.0 + name});
  rank_first_again(plans, least_gain,
                   [&](const Timed& plan) { return plan.name == 1 ? factor_of_second : 1.0; });
  std::vector<int> names;
  for (const Timed& plan : plans) names.push_back(plan.name);
  EXPECT_TRUE(std::is_sorted(plans.begin(), plans.end(), [](const auto& one, const auto& other) {
    return one.cycles < other.cycles;
  }));
  return names;
}

TEST(RankFirstAgain, LeavesTheFirstPlaceToWhoGainsEnough) {
  const std::vector<int> as_before{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const std::vector<int> second_first{1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  EXPECT_EQ(names_ranked(0.0, 1.0), as_before);
  EXPECT_EQ(names_ranked(0.0, 0.985), second_first);  // 99.5
  EXPECT_EQ(names_ranked(0.01, 0.985), as_before);
  EXPECT_EQ(names_ranked(0.01, 0.97), second_first);
  // Behind the eighth nothing moves, and nobody falls behind them.
  EXPECT_EQ(names_ranked(0.0, 1.25), (std::vector<int>{0, 2, 3, 4, 5, 6, 7, 1, 8, 9, 10, 11}));
}

}  // namespace
}  // namespace tilescope::operations
