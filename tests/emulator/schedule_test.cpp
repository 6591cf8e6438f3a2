// Launches in other orders: which order a seed gives, and what it does to a kernel.
#include <set>

#include "emulator/harness.hpp"
#include "emulator/launch_schedule.hpp"

namespace tilescope::emulator::test {
namespace {

TEST(Schedule, StartsEveryClusterOnce) {
  for (const std::uint64_t clusters : {1, 2, 7, 64, 1000}) {
    for (std::uint64_t seed = 1; seed < 30; ++seed) {
      const Schedule schedule(seed, clusters);
      std::set<std::uint64_t> started;
      for (std::uint64_t i = 0; i < clusters; ++i) started.insert(schedule.cluster(i));
      EXPECT_EQ(started.size(), clusters) << seed;
      EXPECT_EQ(*started.rbegin(), clusters - 1) << seed;
    }
  }
}

TEST(Schedule, GivesEveryWarpATurn) {
  for (std::uint64_t seed = 1; seed < 30; ++seed) {
    Schedule schedule(seed, 4);
    const Schedule::Round round = schedule.round(3, 20);
    EXPECT_LE(round.awake, 20u);
    EXPECT_EQ(std::set<std::uint32_t>(round.warps.begin(), round.warps.end()).size(), 20u);
  }
}

TEST(Schedule, GivesWayALimitedNumberOfTimes) {
  Schedule schedule(3, 1);
  std::uint64_t pauses = 0;
  for (int i = 0; i < 1'000'000; ++i) pauses += schedule.pauses(~0u);
  EXPECT_GT(pauses, 1000u);
  EXPECT_LT(pauses, 1'000'000u);
}

/// Every warp of every block adds 1 to out, by a load and a store.
constexpr char kSum[] = R"(
.visible .entry k(.param .u64 out) {
  .reg .b32 %r<4>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [out];
  ld.global.u32 %r1, [%rd1];
  add.u32 %r1, %r1, 1;
  st.global.u32 [%rd1], %r1;
  ret;
}
)";

std::uint32_t sum_of(std::uint64_t seed, unsigned threads) {
  Bench bench(std::string(kHeader) + kSum);
  const auto out = bench.upload(std::vector<std::uint32_t>{0}, "out");
  const LaunchSummary summary =
      bench.run("k", {4}, {256}, {.threads = threads, .schedule = seed}, out);
  EXPECT_TRUE(summary.complete()) << summary.message;
  return bench.download<std::uint32_t>(out, 1)[0];
}

TEST(Schedule, TearsWhatIsNotAtomicAndRepeatsItself) {
  EXPECT_EQ(sum_of(0, 1), 32u);  // the usual order hides the mistake
  std::set<std::uint32_t> sums;
  for (std::uint64_t seed = 1; seed < 16; ++seed) {
    sums.insert(sum_of(seed, 1));
    EXPECT_EQ(sum_of(seed, 1), sum_of(seed, 4)) << seed;
  }
  EXPECT_GT(sums.size(), 4u);
}

TEST(Schedule, LaunchesAgainFromTheSameState) {
  Bench bench(std::string(kHeader) + kSum);
  const auto out = bench.upload(std::vector<std::uint32_t>{5}, "out");
  const auto unset = bench.machine.allocate(8, "unset");
  const Machine::State before = bench.machine.save();
  bench.run("k", {1}, {32}, {.threads = 1}, out);
  EXPECT_EQ(bench.download<std::uint32_t>(out, 1)[0], 6u);
  EXPECT_TRUE(bench.machine.memory().find(unset)->fully_initialised());  // nobody tracked it
  bench.machine.restore(before);
  EXPECT_EQ(bench.download<std::uint32_t>(out, 1)[0], 5u);
  EXPECT_FALSE(bench.machine.memory().find(unset)->initialised(0, 8));
}

}  // namespace
}  // namespace tilescope::emulator::test
