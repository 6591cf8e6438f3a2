// Observers find the same in compiled and in interpreted code, to the last digit.
#include <gtest/gtest.h>

#include <cstdlib>

#include "inspect/results/detail_observers.hpp"
#include "matmul_rungs.hpp"
#include "observe/count/count_observer.hpp"
#include "observe/trace/lane_samples.hpp"

namespace tilescope::observe {
namespace {

/// A variable of the environment, for as long as this lives.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Setting() { unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
};

struct Explained {
  CountedLaunch counts;
  std::vector<LaneSample> samples;
};

Explained explain(const testing::Rung& rung, std::uint32_t n, unsigned threads,
                  const std::optional<BlockSample>& blocks) {
  CountObserver counter(blocks);
  inspect::LaneSamplesOfBlocks sampler(blocks);
  testing::run_rung(rung, n, {&counter, &sampler}, threads);
  return {counter.result(), sampler.result()};
}

void expect_same(const Explained& a, const Explained& b) {
  EXPECT_EQ(a.counts.totals, b.counts.totals);
  EXPECT_EQ(a.counts.spread, b.counts.spread);
  EXPECT_EQ(a.counts.complete, b.counts.complete);
  ASSERT_EQ(a.counts.instructions.size(), b.counts.instructions.size());
  for (std::size_t i = 0; i < a.counts.instructions.size(); ++i) {
    const InstructionCount &x = a.counts.instructions[i], &y = b.counts.instructions[i];
    EXPECT_EQ(x.id, y.id);
    EXPECT_EQ(x.counts, y.counts) << x.place.line;
    ASSERT_EQ(x.diverged.has_value(), y.diverged.has_value());
    if (!x.diverged) continue;
    EXPECT_EQ(x.diverged->block, y.diverged->block);
    EXPECT_EQ(x.diverged->warp, y.diverged->warp);
    EXPECT_EQ(x.diverged->taken, y.diverged->taken);
    EXPECT_EQ(x.diverged->idle_lanes, y.diverged->idle_lanes);
  }
  ASSERT_EQ(a.counts.lines.size(), b.counts.lines.size());
  for (std::size_t i = 0; i < a.counts.lines.size(); ++i) {
    EXPECT_EQ(a.counts.lines[i].counts, b.counts.lines[i].counts);
    EXPECT_EQ(a.counts.lines[i].spread, b.counts.lines[i].spread);
  }
  ASSERT_EQ(a.counts.footprint.size(), b.counts.footprint.size());
  for (std::size_t i = 0; i < a.counts.footprint.size(); ++i) {
    EXPECT_EQ(a.counts.footprint[i].name, b.counts.footprint[i].name);
    EXPECT_EQ(a.counts.footprint[i].read, b.counts.footprint[i].read);
    EXPECT_EQ(a.counts.footprint[i].written, b.counts.footprint[i].written);
  }
  ASSERT_EQ(a.samples.size(), b.samples.size());
  for (std::size_t i = 0; i < a.samples.size(); ++i) {
    const LaneSample &x = a.samples[i], &y = b.samples[i];
    EXPECT_EQ(x.instruction, y.instruction);
    EXPECT_EQ(x.mask, y.mask);
    EXPECT_EQ(x.block, y.block) << x.place.line;
    EXPECT_EQ(x.warp, y.warp) << x.place.line;
    EXPECT_EQ(x.object, y.object);
    EXPECT_EQ(x.cost, y.cost);
    EXPECT_EQ(x.ideal, y.ideal);
    EXPECT_EQ(x.ways, y.ways);
    for (std::size_t lane = 0; lane < x.addresses.size(); ++lane) {
      if ((x.mask >> lane & 1) == 0) continue;
      EXPECT_EQ(x.addresses[lane], y.addresses[lane]) << x.place.line << ", lane " << lane;
    }
  }
}

class Tiers : public ::testing::TestWithParam<testing::Rung> {};

TEST_P(Tiers, ExplainTheSame) {
  if (!testing::has_compiler()) GTEST_SKIP() << "no NVRTC";
  for (const auto& blocks :
       {std::optional<BlockSample>{}, std::optional(BlockSample{.blocks = 3})}) {
    Explained interpreted;
    {
      const Setting only("TILESCOPE_INTERPRET", "1");
      interpreted = explain(GetParam(), 128, 1, blocks);
    }
    for (const char* after : {"1", "3", "150"}) {
      const Setting soon("TILESCOPE_COMPILE_AFTER", after);
      for (const unsigned threads : {1u, 3u}) {
        SCOPED_TRACE(::testing::Message()
                     << "compiled after " << after << ", " << threads << " threads, "
                     << (blocks ? "some" : "all") << " blocks");
        expect_same(interpreted, explain(GetParam(), 128, threads, blocks));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Matmul, Tiers, ::testing::ValuesIn(testing::rungs(128)),
                         [](const auto& rung) { return rung.param.name; });

}  // namespace
}  // namespace tilescope::observe
