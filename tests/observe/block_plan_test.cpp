// The blocks that a sample counts.
#include "observe/count/block_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace tilescope::observe {
namespace {

std::set<std::uint64_t> counted_blocks(const BlockPlan& plan, Dim3 grid) {
  std::set<std::uint64_t> blocks;
  for (std::uint64_t i = 0; i < grid.count(); ++i) {
    if (plan.contains(i)) blocks.insert(i);
  }
  return blocks;
}

/// The plan's strata have the blocks that it says, and count as many of them.
void expect_consistent(const BlockPlan& plan, Dim3 grid) {
  std::vector<BlockPlan::Stratum> seen(plan.strata().size());
  for (std::uint64_t i = 0; i < grid.count(); ++i) {
    ++seen.at(plan.stratum(i)).blocks;
    if (plan.contains(i)) ++seen.at(plan.stratum(i)).counted;
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i].blocks, plan.strata()[i].blocks) << i;
    EXPECT_EQ(seen[i].counted, plan.strata()[i].counted) << i;
  }
  EXPECT_EQ(counted_blocks(plan, grid).size(), plan.counted());
}

TEST(BlockPlan, CountsAllWithoutASample) {
  EXPECT_TRUE(BlockPlan(std::nullopt, {100}).counts_all());
  EXPECT_TRUE(BlockPlan(BlockSample{.blocks = 100}, {100}).counts_all());
  EXPECT_TRUE(BlockPlan(BlockSample{.percent = 100}, {100}).counts_all());
  EXPECT_TRUE(BlockPlan(BlockSample{.blocks = 1}, {2}).counts_all()) << "both are borders";
  EXPECT_TRUE(BlockPlan(BlockSample{.first = 0, .last = 99}, {100}).counts_all());
  EXPECT_TRUE(BlockPlan(BlockSample{.first = 100, .last = 200}, {100}).counts_all());
  EXPECT_TRUE(BlockPlan().contains(12345));
}

TEST(BlockPlan, ARangeIsThatRange) {
  const BlockPlan plan(BlockSample{.first = 3, .last = 5}, {100});
  EXPECT_THAT(counted_blocks(plan, {100}), ::testing::ElementsAre(3, 4, 5));
  EXPECT_FALSE(plan.is_random());
  expect_consistent(plan, {100});
  EXPECT_EQ(BlockPlan(BlockSample{.first = 90, .last = 500}, {100}).counted(), 10U);
}

TEST(BlockPlan, EveryBorderIsInASample) {
  for (const Dim3 grid :
       {Dim3{1000}, Dim3{40, 30}, Dim3{12, 11, 10}, Dim3{1, 500}, Dim3{2, 2, 90}, Dim3{3, 3, 3}}) {
    for (const std::uint64_t blocks : {1U, 20U, 100U}) {
      const BlockPlan plan(BlockSample{.blocks = blocks, .seed = blocks}, grid);
      if (plan.counts_all()) continue;
      EXPECT_TRUE(plan.is_random());
      EXPECT_TRUE(plan.contains(0)) << "a corner";
      EXPECT_TRUE(plan.contains(grid.count() - 1)) << "the opposite one";
      EXPECT_GE(plan.counted(), std::min(blocks, grid.count()) * 9 / 10);
      for (const BlockPlan::Stratum& stratum : plan.strata()) {
        EXPECT_GE(stratum.counted, std::min<std::uint64_t>(stratum.blocks, 2));
      }
      expect_consistent(plan, grid);
    }
  }
}

TEST(BlockPlan, TheSeedDecides) {
  const Dim3 grid{10'000};
  const auto drawn = [&](std::uint64_t seed) {
    return counted_blocks(BlockPlan(BlockSample{.blocks = 50, .seed = seed}, grid), grid);
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
  // Every block has the same chance: their mean is the middle.
  double sum = 0;
  std::size_t count = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    for (const std::uint64_t block : drawn(seed)) {
      if (block == 0 || block == grid.count() - 1) continue;
      sum += static_cast<double>(block);
      ++count;
    }
  }
  EXPECT_EQ(count, 200U * 48U);
  EXPECT_NEAR(sum / static_cast<double>(count), 5000.0, 100.0);  // sigma is 29
}

}  // namespace
}  // namespace tilescope::observe
