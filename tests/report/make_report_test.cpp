// Reports as a program writes them: each format, and budgets that decide.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <tilescope/error.hpp>
#include <tilescope/report.hpp>

#include "compile/compiler.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class MakeReport : public ::testing::Test {
 protected:
  void SetUp() override {
    if (compile::compiler_description().empty()) GTEST_SKIP() << "no NVRTC";
  }
  /// Without its barrier it is a race in lines 3 and 5.
  static SourceText turn(bool with_barrier) {
    return {std::string("__global__ void turn(int* x) {\n"
                        "  __shared__ int tile[64];\n"
                        "  tile[threadIdx.x] = x[threadIdx.x];\n") +
                (with_barrier ? "  __syncthreads();\n" : "\n") +
                "  x[threadIdx.x] = tile[63 - threadIdx.x];\n}\n",
            "turn.cu"};
  }
  static LaunchDescription launch() {
    return {.grid = Dim3{1},
            .block = Dim3{64},
            .arguments = {LaunchArgument::array(DataType::int32, 64, Initial::iota)}};
  }
  static CheckResult checked(bool with_barrier) { return check(turn(with_barrier), launch()); }
  static ExplainResult explained() { return explain(turn(true), launch(), {.pictures = true}); }
};

TEST_F(MakeReport, EachFormatNamesTheRace) {
  const CheckResult result = checked(false);
  const auto text_in = [&](ReportFormat format) {
    const Report report = make_report(result, {.format = format});
    EXPECT_FALSE(report.passes);
    return report.text;
  };
  EXPECT_THAT(text_in(ReportFormat::text), HasSubstr("error: race at turn.cu:3 and 5"));
  EXPECT_THAT(text_in(ReportFormat::gcc), StartsWith("turn.cu:3:3: error: "));
  EXPECT_THAT(text_in(ReportFormat::github), StartsWith("::error file=turn.cu,line=3"));
  EXPECT_THAT(text_in(ReportFormat::junit), HasSubstr("failures=\"1\""));
  EXPECT_THAT(text_in(ReportFormat::html), HasSubstr("missing: a barrier, __syncthreads()"));
  const auto sarif = nlohmann::json::parse(text_in(ReportFormat::sarif));
  EXPECT_EQ(sarif.at("runs").at(0).at("results").at(0).at("ruleId"), "race");
  EXPECT_NE(sarif.at("runs").at(0).at("tool").at("driver").at("version"), "");
  const auto json = nlohmann::json::parse(text_in(ReportFormat::json));
  EXPECT_EQ(json.at("reports").at(0).at("kind"), "race");
}

TEST_F(MakeReport, ACuredKernelPasses) {
  EXPECT_TRUE(make_report(checked(true)).passes);
  EXPECT_EQ(make_report(checked(true), {.format = ReportFormat::gcc}).text, "");
}

TEST_F(MakeReport, BudgetsDecide) {
  const ExplainResult result = explained();
  EXPECT_TRUE(make_report(result).passes);
  const Report held = make_report(result, {.assertions = {"shared_load_conflicts == 0"}});
  EXPECT_TRUE(held.passes);
  EXPECT_THAT(held.text, HasSubstr("shared_load_conflicts == 0"));
  const Report failed = make_report(
      result, {.format = ReportFormat::gcc, .assertions = {"turn.cu:3 global_load_sectors < 8"}});
  EXPECT_FALSE(failed.passes);
  EXPECT_THAT(failed.text, HasSubstr("turn.cu:3"));
  EXPECT_THAT(make_report(result, {.format = ReportFormat::html}).text, HasSubstr("st.shared"));
}

TEST_F(MakeReport, ABaselineIsAFormerReport) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "before.json";
  const ExplainResult result = explained();
  testing::write_file(path, make_report(result, {.format = ReportFormat::json}).text);
  EXPECT_TRUE(make_report(result, {.baseline = path}).passes);
  ExplainResult grown = result;
  grown.counts.totals.barriers += 1;
  EXPECT_FALSE(make_report(grown, {.baseline = path}).passes);
  EXPECT_TRUE(make_report(grown, {.baseline = path, .tolerances = {"barriers=60%"}}).passes);
}

TEST_F(MakeReport, MistakesAreErrors) {
  const ExplainResult result = explained();
  for (const ReportOptions& wrong :
       {ReportOptions{.assertions = {"no_such_counter == 0"}},
        ReportOptions{.assertions = {"barriers =="}}, ReportOptions{.tolerances = {"barriers"}}}) {
    EXPECT_THROW(make_report(result, wrong), Error);
  }
  EXPECT_THROW(make_report(result, {.baseline = "no/such.json"}), Error);
}

TEST_F(MakeReport, ARunWithoutALaunchNeverPasses) {
  CheckResult idle;
  idle.program.emplace();
  EXPECT_FALSE(make_report(idle).passes);
  ExplainResult empty = explained();
  empty.program.emplace();
  empty.launches.clear();
  EXPECT_FALSE(make_report(empty).passes);
}

}  // namespace
}  // namespace tilescope
