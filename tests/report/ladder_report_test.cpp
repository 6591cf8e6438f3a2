#include "report/ladder_report.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "report/json/json_renderer.hpp"
#include "report/text/text_renderer.hpp"
#include "support/gpus.hpp"

namespace tilescope::report {
namespace {

using measure::RungResult;
using measure::Verdict;

RungResult rung(std::string name, double ms, double error) {
  RungResult result;
  result.variant.name = std::move(name);
  result.variant.idea = "an idea";
  result.variant.source = "matmul/x.cu";
  result.verdict = Verdict::ok;
  result.timing = measure::Timing{{0.5 * ms, ms, 2.0 * ms}};
  result.max_error = error;
  result.flops_per_second = 2e9 / (ms * 1e-3);
  result.bytes_per_second = 1e7 / (ms * 1e-3);
  return result;
}

// A rung of every kind. None of the figures of the wrong one may be shown.
std::vector<RungResult> results() {
  std::vector<RungResult> all{rung("register_accumulator_32", 0.35, 1.5e-5),
                              rung("tiled_16", 0.28, 2.5e-5), rung("wrong_one", 1, 1),
                              rung("one_block", 1, 1), rung("cublas", 0.066, 1.25e-5)};
  all[1].note = "padded to 1008 x 1008 x 1008";
  for (const std::size_t i : {2, 3}) {
    all[i].timing.reset();
    all[i].max_error.reset();
  }
  all[2].verdict = Verdict::wrong;
  all[2].reason = "3 of 1000000 elements are wrong, the first at 7: nan, not 2 (bound 1e-06)";
  all[3].verdict = Verdict::skipped;
  all[3].reason = "at most 1024 elements of C fit in one block; 1000 x 1000 has 1000000";
  all[4].variant.is_peer = true;
  return all;
}

LadderContext context() {
  return {.operation = "matmul",
          .size = "1000 x 1000 x 1000",
          .device_id = "cuda:0",
          .device = testing::h200(),
          .work = {.flops = 2e9, .bytes = 1.2e7},
          .seed = 1};
}

std::string table(const LadderContext& of, const std::vector<RungResult>& rows) {
  return render_text(ladder_page(of, rows));
}

constexpr const char* golden_text =
    R"(matmul 1000 x 1000 x 1000 on cuda:0 (NVIDIA H200)
rung                     verdict        time            rate   x peer max error
register_accumulator_32  ok           350 us    5.71 TFLOP/s    0.189  1.50e-05
tiled_16                 ok           280 us    7.14 TFLOP/s    0.236  2.50e-05
wrong_one                wrong    3 of 1000000 elements are wrong, the first at
                                  7: nan, not 2 (bound 1e-06)
one_block                skipped  at most 1024 elements of C fit in one block;
                                  1000 x 1000 has 1000000
cublas                   ok          66.0 us    30.3 TFLOP/s    1.000  1.25e-05
3 rungs ok, 1 wrong, 1 skipped
  tiled_16: padded to 1008 x 1008 x 1008
)";

TEST(LadderTable, IsThis) {
  EXPECT_EQ(table(context(), results()), golden_text);
}

TEST(LadderTable, FitsInto80Columns) {
  std::istringstream lines(table(context(), results()));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(LadderTable, WithoutAPeer) {
  std::vector<RungResult> rows = results();
  rows.pop_back();
  EXPECT_EQ(baselines(rows).peer_ms, 0.0);
  EXPECT_THAT(table(context(), rows), ::testing::HasSubstr("7.14 TFLOP/s        -  2.50e-05\n"));
}

TEST(LadderTable, WithoutTimes) {  // emulated
  std::vector<RungResult> rows = results();
  for (RungResult& row : rows) row.timing.reset();
  EXPECT_THAT(table(context(), rows),
              ::testing::HasSubstr("tiled_16                 ok                -               -"
                                   "        -  2.50e-05\n"));
}

// An emulated device: a CPU rung with its time, kernels with counts.
std::vector<RungResult> counted_results() {
  std::vector<RungResult> rows = results();
  for (const std::size_t i : {1, 4}) {
    rows[i].timing.reset();
    Counts& c = rows[i].counts.emplace();
    c.global_load = {65536, 262144, 262144};
    c.global_store = {2048, 8192, 8192};
    if (i == 1) c.shared_load = {655360, 786432, 700000, 2};
    c.operations.ffma = 16777216;
    c.operations.fp32_flops = 33554432;
  }
  rows[4].counts->operations = {};
  return rows;
}

TEST(LadderTable, CountsOfAnEmulatedDevice) {
  LadderContext counted = context();
  counted.counted = true;
  counted.device_id = "emulated:h200";
  const std::string text = table(counted, counted_results());
  EXPECT_EQ(text, R"(matmul 1000 x 1000 x 1000 on emulated:h200 (NVIDIA H200)
rung                     verdict  requests  /req  waves confl.   FFMA  FLOP/B
register_accumulator_32  ok                                on the CPU, 350 us
tiled_16                 ok          67584   4.0   786k  86432  16.8M    3.88
wrong_one                wrong    3 of 1000000 elements are wrong, the first at
                                  7: nan, not 2 (bound 1e-06)
one_block                skipped  at most 1024 elements of C fit in one block;
                                  1000 x 1000 has 1000000
cublas                   ok          67584   4.0      -      -      -       -
3 rungs ok, 1 wrong, 1 skipped
  tiled_16: padded to 1008 x 1008 x 1008
These are counts of an emulated GPU, no times. requests: to global memory; /req:
32-byte sectors each; waves: turns of shared memory, confl.: those lost to bank
conflicts; FLOP/B: operations a byte requested of global memory.
)");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(LadderJson, HasTheCountsOfAnEmulatedDevice) {
  const nlohmann::json json = json_of(ladder_page(context(), counted_results()));
  const nlohmann::json& row = json.at("rungs")[1];
  EXPECT_EQ(row.at("counts").at("global_load_requests"), 65536);
  EXPECT_EQ(row.at("counts").at("shared_load_conflicts"), 86432);
  EXPECT_DOUBLE_EQ(row.at("flops_per_requested_byte"), 33554432.0 / (270336 * 32));
  EXPECT_FALSE(json.at("rungs")[0].contains("counts"));
}

TEST(LadderTable, MemoryBoundWorkIsComparedWithTheCopy) {
  LadderContext memory = context();
  memory.work.memory_bound = true;
  std::vector<RungResult> rows = results();
  rows[0].variant.is_copy = true;
  const std::string text = table(memory, rows);
  EXPECT_THAT(text, ::testing::HasSubstr("x peer    x copy\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("tiled_16                 ok           280 us       35.7 "
                                         "GB/s    0.236     1.250\n"));
}

TEST(LadderJson, HasTheKeysThatOthersRelyOn) {
  const nlohmann::json json = json_of(ladder_page(context(), results()));
  EXPECT_EQ(json.at("version"), 1);
  EXPECT_EQ(json.at("command"), "ladder");
  EXPECT_EQ(json.at("operation"), "matmul");
  EXPECT_EQ(json.at("size"), "1000 x 1000 x 1000");
  EXPECT_EQ(json.at("seed"), 1);
  EXPECT_EQ(json.at("flops"), 2e9);
  EXPECT_EQ(json.at("device").at("id"), "cuda:0");
  const nlohmann::json& rungs = json.at("rungs");
  ASSERT_EQ(rungs.size(), 5u);
  for (const nlohmann::json& row : rungs) {
    for (const char* key : {"name", "verdict", "reason", "time_ms", "max_error"}) {
      EXPECT_TRUE(row.contains(key)) << key;
    }
  }
  EXPECT_EQ(rungs[1].at("name"), "tiled_16");
  EXPECT_EQ(rungs[1].at("verdict"), "ok");
  EXPECT_EQ(rungs[1].at("time_ms"), 0.28);
  EXPECT_EQ(rungs[1].at("fastest_ms"), 0.14);
  EXPECT_EQ(rungs[1].at("slowest_ms"), 0.56);
  EXPECT_EQ(rungs[1].at("samples"), 3);
  EXPECT_EQ(rungs[1].at("max_error"), 2.5e-5);
  EXPECT_DOUBLE_EQ(rungs[1].at("speed_over_peer"), 0.066 / 0.28);
}

TEST(LadderJson, WrongAndSkippedRungsHaveNoFigures) {
  const nlohmann::json json = json_of(ladder_page(context(), results()));
  for (const std::size_t i : {std::size_t{2}, std::size_t{3}}) {
    const nlohmann::json& row = json.at("rungs")[i];
    EXPECT_TRUE(row.at("time_ms").is_null());
    EXPECT_TRUE(row.at("max_error").is_null());
    EXPECT_FALSE(row.contains("flops_per_second"));
    EXPECT_FALSE(row.contains("speed_over_peer"));
    EXPECT_NE(row.at("reason"), "");
  }
  EXPECT_EQ(json.at("rungs")[2].at("verdict"), "wrong");
  EXPECT_EQ(json.at("rungs")[3].at("verdict"), "skipped");
}

}  // namespace
}  // namespace tilescope::report
