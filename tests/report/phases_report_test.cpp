// The table of execution phases of the documents' toy example, and of kernels unlike it.
#include "report/phases_report.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <tilescope/error.hpp>

#include "observe/matmul_rungs.hpp"
#include "report/json/json_renderer.hpp"
#include "report/text/text_renderer.hpp"

namespace tilescope::report {
namespace {

using ::testing::HasSubstr;

testing::Rung tiled(std::uint32_t width, std::uint32_t n) {
  return {"tiled",
          "06_tiled",
          {{"TILE", std::to_string(width)}},
          {{n / width, n / width}, {width, width}}};
}

Page phases_page(const observe::PhaseTrace& trace, std::size_t most = 8) {
  Page page("explain");
  add_phases(page, "", trace, most);
  return page;
}

std::string phases_report(const observe::PhaseTrace& trace, std::size_t most = 8) {
  return render_text(phases_page(trace, most));
}

class Phases : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::has_compiler()) GTEST_SKIP() << "no NVRTC";
  }
  observe::PhaseTrace trace_;
};

// Two slips of the documents' own table are not in it: thread (0,1) stores B[0,1] in b_tile[0,1].
TEST_F(Phases, OfTheToyExample) {
  testing::run_rung(tiled(2, 4), 4, {&trace_});
  EXPECT_EQ(phases_report(trace_), R"(block (0,0): 2 phases; threads as (y,x): row, column

phase 0
  thread  loads
  (0,0)   A[0,0] -> a_tile[0,0], B[0,0] -> b_tile[0,0]
  (0,1)   A[0,1] -> a_tile[0,1], B[0,1] -> b_tile[0,1]
  (1,0)   A[1,0] -> a_tile[1,0], B[1,0] -> b_tile[1,0]
  (1,1)   A[1,1] -> a_tile[1,1], B[1,1] -> b_tile[1,1]
  thread  computes
  (0,0)   C[0,0] += a_tile[0,0]*b_tile[0,0] + a_tile[0,1]*b_tile[1,0]
  (0,1)   C[0,1] += a_tile[0,0]*b_tile[0,1] + a_tile[0,1]*b_tile[1,1]
  (1,0)   C[1,0] += a_tile[1,0]*b_tile[0,0] + a_tile[1,1]*b_tile[1,0]
  (1,1)   C[1,1] += a_tile[1,0]*b_tile[0,1] + a_tile[1,1]*b_tile[1,1]

phase 1
  thread  loads
  (0,0)   A[0,2] -> a_tile[0,0], B[2,0] -> b_tile[0,0]
  (0,1)   A[0,3] -> a_tile[0,1], B[2,1] -> b_tile[0,1]
  (1,0)   A[1,2] -> a_tile[1,0], B[3,0] -> b_tile[1,0]
  (1,1)   A[1,3] -> a_tile[1,1], B[3,1] -> b_tile[1,1]
  thread  computes
  (0,0)   C[0,0] += a_tile[0,0]*b_tile[0,0] + a_tile[0,1]*b_tile[1,0]
  (0,1)   C[0,1] += a_tile[0,0]*b_tile[0,1] + a_tile[0,1]*b_tile[1,1]
  (1,0)   C[1,0] += a_tile[1,0]*b_tile[0,0] + a_tile[1,1]*b_tile[1,0]
  (1,1)   C[1,1] += a_tile[1,0]*b_tile[0,1] + a_tile[1,1]*b_tile[1,1]
)");
}

TEST_F(Phases, EveryProductOfALargerOne) {
  constexpr std::uint32_t n = 16, width = 8;
  testing::run_rung(tiled(width, n), n, {&trace_});
  const observe::PhaseTable& table = trace_.result();
  ASSERT_EQ(table.phases.size(), n / width);
  for (const observe::Phase& phase : table.phases) {
    EXPECT_EQ(phase.moves.size(), 2u * width * width);
    EXPECT_EQ(phase.products.size(), std::size_t{width} * width * width);
  }
  EXPECT_EQ(json_of(phases_page(trace_)).at("phases")[1]["loads"].size(), 2u * width * width);
  EXPECT_THAT(phases_report(trace_, 1), HasSubstr("... and 1 phases more"));
}

TEST_F(Phases, WithoutSharedMemoryIsOne) {
  testing::run_rung({"naive", "03_register_accumulator", {}, {{2, 2}, {2, 2}}}, 4, {&trace_});
  const std::string text = phases_report(trace_);
  EXPECT_THAT(text, HasSubstr("block (0,0): 1 phase;"));
  // No two threads walk down B at once: the length of its rows is not known.
  EXPECT_THAT(text, HasSubstr("(1,0)   C[1,0] += A[1,0]*B[0] + A[1,1]*B[4] + A[1,2]*B[8]"));
}

TEST_F(Phases, TilesReadInTheWrongOrderShow) {
  testing::run_rung({"conflicts", "07_tiled_conflicts", {{"TILE", "2"}}, {{2, 2}, {2, 2}}}, 4,
                    {&trace_});
  // threadIdx.x runs along the rows here, so that thread (0,1) holds the second row.
  EXPECT_THAT(phases_report(trace_), HasSubstr("(0,1)   A[1,0] -> a_tile[1,0], B[1,0]"));
}

TEST_F(Phases, ALargeBlockIsRefused) {
  testing::run_rung(tiled(16, 16), 16, {&trace_});
  try {
    phases_report(trace_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), HasSubstr("a block of 256 threads"));
  }
}

TEST_F(Phases, AKernelWithoutAnyIsRefused) {
  testing::KernelRun run(compile::compile(testing::compilation(
      "extern \"C\" __global__ void k(float* out) { out[threadIdx.x] = 1; }")));
  run.launch({{1}, {32}}, {&trace_}, run.uninitialised("out", 128));
  EXPECT_THROW(phases_report(trace_), Error);
}

}  // namespace
}  // namespace tilescope::report
