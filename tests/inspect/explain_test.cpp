// explain(): known counts, by line, in total and by name.
#include <tilescope/explain.hpp>

#include "inspect_case.hpp"

namespace tilescope {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using ExplainTest = testing::InspectTest;

std::uint64_t named(const Counts& counts, std::string_view name) {
  for (const NamedCount& count : named_counts()) {
    if (count.name == name) return count.of(counts);
  }
  ADD_FAILURE() << name;
  return 0;
}

TEST_F(ExplainTest, TwoWarpsOfAReversal) {
  const ExplainResult result = explain(turn(), turn_launch());
  EXPECT_TRUE(result.complete());
  const Counts& totals = result.counts.totals;
  // 64 integers are 8 sectors, loaded and stored by two requests each, without a conflict.
  EXPECT_EQ(totals.global_load.requests, 2U);
  EXPECT_EQ(named(totals, "global_load_sectors"), 8U);
  EXPECT_EQ(named(totals, "global_store_sectors"), 8U);
  EXPECT_EQ(named(totals, "shared_load_wavefronts"), 2U);
  EXPECT_EQ(named(totals, "shared_load_conflicts"), 0U);
  EXPECT_EQ(totals.barriers, 2U);
  EXPECT_EQ(result.counts.unique_bytes_read(), 256U);
  EXPECT_THAT(advise(result), IsEmpty());

  std::uint64_t instructions = 0;
  for (const LineCounts& line : result.counts.lines) {
    EXPECT_EQ(line.place.file, "kernel.cu");
    instructions += line.counts.instructions;
    EXPECT_EQ(line.counts.global_load.sectors, line.place.line == 4 ? 8U : 0U);
    EXPECT_EQ(line.counts.global_store.sectors, line.place.line == 6 ? 8U : 0U);
  }
  EXPECT_EQ(instructions, totals.instructions);
}

TEST_F(ExplainTest, AdviceNamesTheLineAndTheConflict) {
  const SourceText source{
      "__global__ void k(int* x) {\n  __shared__ int s[1024];\n  const int t = threadIdx.x;\n"
      "  s[32 * t] = x[t];\n  __syncthreads();\n  x[t] = s[32 * (31 - t)];\n}\n"};
  const ExplainResult result =
      explain(source, {.grid = Dim3{1},
                       .block = Dim3{32},
                       .arguments = {LaunchArgument::array(DataType::int32, 32, Initial::iota)}});
  EXPECT_EQ(result.counts.totals.shared_load.wavefronts, 32U);
  const std::vector<Advice> advice = advise(result);
  ASSERT_EQ(advice.size(), 2U);
  EXPECT_EQ(advice[0].kind, AdviceKind::bank_conflict);
  EXPECT_THAT(advice[0].message, HasSubstr("32-way bank conflicts"));
}

TEST_F(ExplainTest, EveryLaunchOfARung) {
  const ExplainResult result = explain(LadderRung{"reduction/shuffles", {.size = 100000}});
  EXPECT_EQ(result.ran.launches, result.launches.size());
  LaunchCounts sum;
  for (const LaunchCounts& launch : result.launches) sum += launch;
  EXPECT_EQ(sum.totals, result.counts.totals);
  EXPECT_EQ(sum.lines.size(), result.counts.lines.size());
}

TEST_F(ExplainTest, FaultsAreCountedAndALaunchThatIsForbiddenIsAnError) {
  LaunchDescription launch = turn_launch();
  launch.arguments[0] = LaunchArgument::array(DataType::int32, 60, Initial::iota);
  const ExplainResult result = explain(turn(), launch);
  EXPECT_EQ(result.ran.faults, 8U);  // four loads and four stores
  launch.block = Dim3{2000};
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { explain(turn(), launch); }), HasSubstr("1024"));
}

TEST(NamedCounts, HaveTheNamesThatProgramsRelyOn) {
  for (const char* name :
       {"instructions", "thread_instructions", "global_load_requests", "global_load_sectors",
        "global_store_requests", "global_store_sectors", "global_reduction_sectors",
        "shared_load_wavefronts", "shared_store_wavefronts", "shared_atomic_wavefronts",
        "shared_load_conflicts", "shared_store_conflicts", "divergent_branches", "ffma"}) {
    EXPECT_EQ(named({}, name), 0U);
  }
}

}  // namespace
}  // namespace tilescope
