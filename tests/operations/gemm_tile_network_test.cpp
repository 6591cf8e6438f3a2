// The network that ranks the first tiles of tensor_tiles once more.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "operations/gemm/hopper/tensor_tile_choice.hpp"
#include "operations/gemm/hopper/tensor_tile_network.hpp"
#include "support/gemm_kernels.hpp"
#include "support/tensor_products.hpp"

namespace tilescope::operations {
namespace {

using testing::hopper;
using testing::tensor_product;

const std::vector<MatmulShape> known_shapes{
    {64, 64, 16},       {1000, 1000, 1000}, {4096, 4096, 4096}, {128, 8192, 16384},
    {4095, 4097, 4099}, {712, 1856, 3784},  {6024, 2640, 40}};

double model_alone(const GemmProblem& problem, const TensorTile& tile) {
  return timed_features(problem, tile, hopper().sm_count).cycles;
}

TEST(TileNetwork, HasAFactorForEveryTileOfAKnownProduct) {
  for (const MatmulShape& s : known_shapes) {
    const GemmProblem problem = tensor_product(s.m, s.n, s.k);
    for (const auto& [tile, cycles] : timed_tensor_tiles(problem, hopper())) {
      if (!is_known_to_network(problem, tile)) continue;
      SCOPED_TRACE(text_of(tile));
      const TileFeatures features = timed_features(problem, tile, hopper().sm_count).features;
      for (std::size_t i = 0; i < tile_features; ++i) EXPECT_TRUE(std::isfinite(features[i])) << i;
      const double factor = measured_over_expected(features);
      EXPECT_GE(factor, 0.8);
      EXPECT_LE(factor, 1.25);
    }
  }
}

// It judges nothing that was never measured.
TEST(TileNetwork, KnowsProductsLikeThoseItWasTrainedOn) {
  const TensorTile tile, panel{.panel = 4};
  EXPECT_TRUE(is_known_to_network(tensor_product(64, 16384, 16), tile));
  EXPECT_FALSE(is_known_to_network(tensor_product(64, 16384, 16), panel));
  EXPECT_FALSE(is_known_to_network(tensor_product(63, 4096, 4096), tile));
  EXPECT_FALSE(is_known_to_network(tensor_product(4096, 63, 4096), tile));
  EXPECT_FALSE(is_known_to_network(tensor_product(4096, 4096, 8), tile));
  EXPECT_FALSE(is_known_to_network(tensor_product(4096, 4096, 16392), tile));
  GemmProblem to_float = tensor_product(4096, 4096, 4096);
  to_float.c.type = DataType::float32;
  EXPECT_FALSE(is_known_to_network(to_float, tile));
  EXPECT_FALSE(is_known_to_network(tensor_product(4096, 4096, 4096, Precision::tf32), tile));
  EXPECT_FALSE(is_known_to_network(tensor_product(4096, 4096, 4096, Precision::fp8_e4m3), tile));
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
}

}  // namespace
}  // namespace tilescope::operations
