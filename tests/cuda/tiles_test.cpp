// Products in tiles on a GPU have the bits of whole ones, whatever the limit and the orders.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tilescope/matmul.hpp>
#include <tuple>
#include <vector>

#include "cuda/real_gpu.hpp"
#include "transfer/out_of_core.hpp"

namespace tilescope::transfer {
namespace {

class TilesOnGpu : public testing::RealGpu {
 protected:
  static std::vector<float> random_values(std::int64_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
    std::vector<float> values(static_cast<std::size_t>(count));
    std::generate(values.begin(), values.end(), [&] { return uniform(generator); });
    return values;
  }

  // Compares C in tiles with C at once; returns the kernel and the number of tiles.
  OutOfCoreReport compare(const MatmulShape& s, std::size_t limit, Order a_order = {},
                          Order b_order = {}, Order c_order = {}, const std::string& name = "") {
    const std::vector<float> a = random_values(s.m * s.k, 1), b = random_values(s.k * s.n, 2);
    std::vector<float> whole(static_cast<std::size_t>(s.m * s.n)), tiled(whole.size());
    const auto type = DataType::float32;
    const ConstMatrixView a_view =
        dense_view(static_cast<const void*>(a.data()), type, s.m, s.k, a_order);
    const ConstMatrixView b_view =
        dense_view(static_cast<const void*>(b.data()), type, s.k, s.n, b_order);
    const auto c_view = [&](std::vector<float>& c) {
      return dense_view(static_cast<void*>(c.data()), type, s.m, s.n, c_order);
    };
    matmul(*gpu_, a_view, b_view, c_view(whole), {.variant = name});
    const OutOfCoreReport report = out_of_core_matmul(*gpu_, a_view, b_view, c_view(tiled),
                                                      {.device_bytes = limit, .variant = name});
    EXPECT_EQ(whole, tiled) << shape_text(s) << ' ' << limit << ' ' << report.variant;
    EXPECT_LE(report.plan.device_bytes, limit);
    EXPECT_LE(report.busy_seconds, report.seconds);
    return report;
  }
};

TEST_F(TilesOnGpu, HaveTheBitsOfTheWhole) {
  const bool has_copies = gpu_->properties().warpgroup_products;
  for (const std::size_t limit : {std::size_t{24} << 20U, std::size_t{64} << 20U}) {
    const OutOfCoreReport report = compare({2500, 2300, 1201}, limit);
    EXPECT_EQ(report.variant, has_copies ? "ffma_tiles" : "warp_tiles");
    EXPECT_GT(report.plan.tiles(), 1);
  }
  compare({1030, 777, 500}, std::size_t{8} << 20U, {}, {}, {}, "general");
  compare({1030, 777, 500}, std::size_t{4} << 20U, {}, {}, {}, "warp_tiles");
}

TEST_F(TilesOnGpu, TurnWhatLiesTheOtherWay) {
  constexpr Order by_columns = Order::column_major;
  for (const auto& [a, b, c] : {std::tuple{by_columns, Order{}, Order{}},
                                {Order{}, by_columns, Order{}},
                                {by_columns, by_columns, Order{}},
                                {Order{}, Order{}, by_columns},
                                {by_columns, by_columns, by_columns}}) {
    EXPECT_GT(compare({2001, 2307, 803}, std::size_t{20} << 20U, a, b, c).plan.tiles(), 1);
  }
}

// The tiles add up parts of k if the whole product does.
TEST_F(TilesOnGpu, AddUpThePartsOfTheWhole) {
  EXPECT_GT(compare({700, 600, 20000}, std::size_t{100} << 20U).plan.tiles(), 1);
  EXPECT_EQ(compare({300, 500, 40001}, std::size_t{500} << 20U).plan.tiles(), 1);
}

}  // namespace
}  // namespace tilescope::transfer
