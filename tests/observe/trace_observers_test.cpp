// The observers that only pictures use: rounds of loops, the course of warps, the lines of the PTX.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "kernel_run.hpp"
#include "observe/trace/code_lines.hpp"
#include "observe/trace/lane_rounds.hpp"
#include "observe/trace/warp_course.hpp"

namespace tilescope::observe {
namespace {

using ::testing::ElementsAre;

class TraceObservers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::has_compiler()) GTEST_SKIP() << "no NVRTC";
  }
  /// `body` with int* x (4,096 elements, x[i] = i), int n and int i, the thread's index in its
  /// block.
  emulator::LaunchSummary run(const std::string& body, const Launch& launch, std::int32_t n,
                              emulator::Observer& observer, unsigned threads = 2) {
    const compile::Program program = compile::compile(
        testing::compilation("extern \"C\" __global__ void k(int* x, int n) {\n"  // line 1
                             "  const int i = threadIdx.x;\n" +
                             body + "\n}\n"));
    ptx_ = program.ptx;
    kept_ = std::make_unique<testing::KernelRun>(program);
    kept_->threads = threads;
    std::vector<std::int32_t> values(4096);
    std::iota(values.begin(), values.end(), 0);
    return kept_->launch(launch, {&observer}, kept_->array("x", values), n);
  }

  std::string ptx_;
  std::unique_ptr<testing::KernelRun> kept_;
};

constexpr const char* strided =
    "  __shared__ int part[1024];\n"
    "#pragma unroll 1\n"
    "  for (int r = 0; r < n; ++r) part[(i << r) % 1024] = r;\n"  // line 5
    "  x[i] = part[i];";

TEST_F(TraceObservers, RoundsComeInTheOrderOfTheLoop) {
  LaneRounds rounds;
  run(strided, {{3}, {64}}, 4, rounds);
  std::vector<std::uint32_t> ways;
  for (const LaneSample& round : rounds.result()) {
    EXPECT_EQ(round.block, 0U);
    EXPECT_EQ(round.warp, 0U);
    if (round.place.line == 5) ways.push_back(round.cost);
  }
  EXPECT_THAT(ways, ElementsAre(1, 2, 4, 8));
}

TEST_F(TraceObservers, RoundsHaveALimit) {
  LaneRounds rounds;
  run(strided, {{1}, {32}}, 1000, rounds);
  std::size_t stores = 0;
  for (const LaneSample& round : rounds.result()) stores += round.place.line == 5;
  EXPECT_EQ(stores, LaneRounds::kMostRounds);
}

TEST_F(TraceObservers, RoundsAreThoseOfTheLowestWarpThatComes) {
  LaneRounds rounds;
  run("  if (i >= 64) x[i] = n;", {{2}, {128}}, 4, rounds);
  ASSERT_EQ(rounds.result().size(), 1U);
  EXPECT_EQ(rounds.result()[0].warp, 2U);
}

TEST_F(TraceObservers, TheEarlyWarpWaitsForTheLateOne) {
  for (const unsigned threads : {1U, 4U}) {
    WarpCourse course;
    run("  if (i < 32) for (int r = 0; r < n; ++r) atomicAdd(&x[r], 1);\n"
        "  __syncthreads();\n"  // line 4
        "  x[i + 64] = x[i];",
        {{5}, {64}}, 8, course, threads);
    ASSERT_EQ(course.result().size(), 5U);
    for (std::size_t block = 0; block < 5; ++block) {
      const CourseOfBlock& seen = course.result()[block];
      EXPECT_EQ(seen.linear, block);
      EXPECT_TRUE(seen.complete);
      ASSERT_EQ(seen.warps.size(), 2U);
      std::uint64_t waited = 0;
      for (const WarpSpan& span : seen.warps[1]) {
        if (span.state != WarpState::waiting) continue;
        EXPECT_EQ(span.place.line, 4U);
        waited += span.end - span.begin;
      }
      EXPECT_GE(waited, 8U);  // the accesses of the other
      for (const WarpSpan& span : seen.warps[0]) EXPECT_NE(span.state, WarpState::waiting);
      EXPECT_EQ(seen.warps[0].back().end, seen.warps[1].back().end);
    }
  }
}

TEST_F(TraceObservers, LanesApartAreSeen) {
  WarpCourse course;
  run("  if (i % 2) { for (int r = 0; r < i; ++r) atomicAdd(&x[r], 1); }\n"
      "  else { atomicAdd(&x[i], n); }",
      {{1}, {32}}, 8, course);
  std::uint64_t apart = 0;
  for (const WarpSpan& span : course.result().at(0).warps.at(0)) {
    if (span.state == WarpState::partly_idle) apart += span.end - span.begin;
  }
  EXPECT_GE(apart, 31U);
}

TEST_F(TraceObservers, InstructionsHaveTheirLines) {
  CodeLines code([this](const ptx::Module&) { return ptx_; });
  EXPECT_TRUE(code.result().empty());  // nothing was launched yet
  run("  x[i] = x[i] * n;", {{1}, {32}}, 3, code);
  const std::vector<CodeLine> lines = code.result();
  std::vector<std::string> of_line_3;
  std::uint32_t last = 0;
  for (const CodeLine& line : lines) {
    EXPECT_GT(line.ptx_line, last);
    last = line.ptx_line;
    EXPECT_EQ(line.text.find('\t'), std::string::npos);
    if (line.place.line == 3) of_line_3.push_back(line.text.substr(0, line.text.find(' ')));
  }
  EXPECT_THAT(of_line_3, ::testing::IsSupersetOf({"ld.global.u32", "mul.lo.s32", "st.global.u32"}));
  EXPECT_EQ(lines.back().text, "ret;");
}

TEST_F(TraceObservers, WithoutTheTextThereAreNoInstructions) {
  CodeLines code([](const ptx::Module&) { return std::string(); });
  run("  x[i] = n;", {{1}, {32}}, 3, code);
  EXPECT_TRUE(code.result().empty());
}

}  // namespace
}  // namespace tilescope::observe
