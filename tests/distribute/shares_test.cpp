// How a product is cut among devices and into panels.
#include "distribute/shares.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tilescope::distribute {
namespace {

TEST(Shares, EqualWeightsGetEqualWholeUnits) {
  const std::vector<double> two{1.0, 1.0};
  EXPECT_EQ(shares(1024, two, 256), (std::vector<Range>{{0, 512}, {512, 512}}));
  EXPECT_EQ(shares(1000, two, 256), (std::vector<Range>{{0, 512}, {512, 488}}));
}

TEST(Shares, AFasterDeviceGetsMore) {
  const std::vector<double> unequal{3.0, 1.0};
  EXPECT_EQ(shares(1024, unequal, 256), (std::vector<Range>{{0, 768}, {768, 256}}));
}

TEST(Shares, FewRowsAreCutSingly) {
  const std::vector<double> three{1.0, 1.0, 1.0};
  EXPECT_EQ(shares(2, three, 256), (std::vector<Range>{{0, 1}, {1, 0}, {1, 1}}));
  EXPECT_EQ(shares(0, three, 256), (std::vector<Range>{{0, 0}, {0, 0}, {0, 0}}));
}

TEST(Shares, EveryRowBelongsToOneDevice) {
  std::mt19937 generator(5);
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t total = std::uniform_int_distribution<std::int64_t>(0, 5000)(generator);
    const std::int64_t unit = std::uniform_int_distribution<std::int64_t>(1, 300)(generator);
    std::vector<double> weights(std::uniform_int_distribution<std::size_t>(1, 9)(generator));
    for (double& weight : weights) weight = std::uniform_real_distribution(0.1, 8.0)(generator);
    std::int64_t next = 0;
    for (const Range& range : shares(total, weights, unit)) {
      EXPECT_EQ(range.first, next);
      EXPECT_GE(range.count, 0);
      next = range.end();
    }
    EXPECT_EQ(next, total) << "unit " << unit;
  }
}

TEST(Panels, CoverTheColumnsAndGrow) {
  for (const std::int64_t columns : {0, 1, 255, 256, 257, 1100, 8192, 16384, 16385, 100000}) {
    std::int64_t next = 0, widest = 0;
    for (const Range& panel : panels_of(columns)) {
      EXPECT_EQ(panel.first, next) << columns;
      EXPECT_GT(panel.count, 0) << columns;
      next = panel.end();
      widest = std::max(widest, panel.count);
    }
    EXPECT_EQ(next, columns);
    EXPECT_LE(widest, columns / 4 + 256) << "three of them are in memory";
  }
  EXPECT_EQ(panels_of(8192),
            (std::vector<Range>{
                {0, 512}, {512, 1024}, {1536, 2048}, {3584, 2048}, {5632, 2048}, {7680, 512}}));
}

}  // namespace
}  // namespace tilescope::distribute
