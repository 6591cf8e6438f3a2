// check(): faulty kernels and their cured twins, as data.
#include <tilescope/check.hpp>

#include "inspect_case.hpp"

namespace tilescope {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using CheckTest = testing::InspectTest;

TEST_F(CheckTest, ARaceAndItsCuredTwin) {
  const CheckResult faulty = check(turn(false), turn_launch());
  ASSERT_EQ(faulty.findings.size(), 1U);
  const Finding& race = faulty.findings[0];
  EXPECT_EQ(race.kind, FindingKind::race);
  EXPECT_EQ(race.severity, Severity::error);
  EXPECT_EQ(race.first.place, (SourcePlace{"kernel.cu", 4}));
  ASSERT_TRUE(race.second.has_value());
  EXPECT_EQ(race.second->place, (SourcePlace{"kernel.cu", 6}));
  EXPECT_EQ(race.count, 64U);
  EXPECT_TRUE(faulty.complete());
  EXPECT_FALSE(faulty.clean());
  EXPECT_EQ(faulty.target, "kernel.cu: turn");
  EXPECT_EQ(faulty.device, "emulated:h200");
  EXPECT_EQ(faulty.ran.launches, 1U);
  EXPECT_EQ(faulty.ran.blocks, 1U);
  EXPECT_GT(faulty.ran.warp_instructions, 0U);
  ASSERT_EQ(faulty.sources.size(), 1U);
  EXPECT_EQ(faulty.sources[0].text, turn(false).text);

  const CheckResult cured = check(turn(), turn_launch());
  EXPECT_THAT(cured.findings, IsEmpty());
  EXPECT_TRUE(cured.clean());
}

TEST_F(CheckTest, AnIllegalLaunchIsAFinding) {
  LaunchDescription launch = turn_launch();
  launch.block = Dim3{2000};
  const CheckResult result = check(turn(), launch);
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_EQ(result.findings[0].kind, FindingKind::illegal_launch);
  EXPECT_THAT(message(result.findings[0]), HasSubstr("1024"));
  EXPECT_EQ(result.ran.ending, Ending::refused);
  EXPECT_EQ(result.ran.launches, 0U);
  EXPECT_FALSE(result.complete());
}

TEST_F(CheckTest, EndsAfterTheFirstFindings) {
  // Three defects, in the order of the blocks that have them.
  const SourceText three{
      "__global__ void k(int* x) {\n"
      "  if (blockIdx.x == 2) x[300] = 1;\n"
      "  if (blockIdx.x == 0) x[400] = 2;\n"
      "  if (blockIdx.x == 1) x[500] = 3;\n}\n"};
  const LaunchDescription launch{
      .grid = Dim3{3},
      .block = Dim3{32},
      .arguments = {LaunchArgument::array(DataType::int32, 100, Initial::zeros)}};
  const CheckResult all = check(three, launch);
  EXPECT_EQ(all.findings.size(), 3U);
  EXPECT_FALSE(all.left_out);
  const CheckResult enough = check(three, launch, {.max_findings = 3});
  EXPECT_EQ(enough.findings.size(), 3U);
  EXPECT_FALSE(enough.left_out);
  EXPECT_TRUE(enough.complete());
  const CheckResult two = check(three, launch, {.max_findings = 2});
  ASSERT_EQ(two.findings.size(), 2U);
  EXPECT_EQ(two.findings[0].first.place.line, 3U);
  EXPECT_EQ(two.findings[1].first.place.line, 4U);
  ASSERT_TRUE(two.left_out);
  EXPECT_EQ(two.left_out->findings, 1U);
  EXPECT_EQ(two.ran.ending, Ending::found_enough);
  EXPECT_FALSE(two.clean());
  EXPECT_TRUE(check(turn(), turn_launch(), {.max_findings = 1}).clean());
}

TEST_F(CheckTest, EndsALaunchThatHasFoundEnough) {
  const LaunchDescription launch{
      .grid = Dim3{8},
      .block = Dim3{32},
      .arguments = {LaunchArgument::array(DataType::int32, 64, Initial::zeros)}};
  const SourceText fault{
      "__global__ void k(volatile int* x) {\n"
      "  x[64 + threadIdx.x] = 1;\n"
      "  for (int i = 0; i < 1000000000; ++i) x[0] = x[1] + i;\n}\n"};
  const SourceText race{
      "__global__ void k(volatile int* x) {\n"
      "  __shared__ int s[32];\n"
      "  s[threadIdx.x] = x[0];\n"
      "  x[1] = s[31 - threadIdx.x];\n"
      "  __syncthreads();\n"
      "  for (int i = 0; i < 1000000000; ++i) x[2] = x[3] + i;\n}\n"};
  for (const SourceText& source : {fault, race}) {
    const CheckResult result = check(source, launch, {.max_findings = 1});
    EXPECT_EQ(result.ran.ending, Ending::found_enough);
    EXPECT_EQ(result.findings.size(), 1U);
    ASSERT_TRUE(result.left_out);
    EXPECT_EQ(result.left_out->blocks, 8U);
  }
}

TEST_F(CheckTest, TheLimitOfInstructionsAndCancelling) {
  const SourceText endless{"__global__ void k(volatile int* x) { while (*x == 0) {} }\n"};
  const LaunchDescription launch{
      .grid = Dim3{1},
      .block = Dim3{1},
      .arguments = {LaunchArgument::array(DataType::int32, 1, Initial::zeros)}};
  const CheckResult limited = check(endless, launch, {.max_instructions = 1000});
  EXPECT_EQ(limited.ran.ending, Ending::unfinished);
  ASSERT_EQ(limited.findings.size(), 1U);
  EXPECT_EQ(limited.findings[0].kind, FindingKind::unfinished);

  const std::atomic<bool> now = true;
  bool started = false;
  const CheckResult cancelled =
      check(endless, launch, {.cancel = &now, .before_launch = [&] { started = true; }});
  EXPECT_EQ(cancelled.ran.ending, Ending::interrupted);
  EXPECT_TRUE(started);
}

TEST_F(CheckTest, WhatKernelsPrintGoesWhereTheCallerSays) {
  const SourceText source{
      "#include <cstdio>\n__global__ void k() { printf(\"seven %d\\n\", 7); }\n"};
  const LaunchDescription launch{.grid = Dim3{1}, .block = Dim3{1}};
  EXPECT_EQ(check(source, launch).printed, "seven 7\n");
  std::string heard;
  const CheckResult result =
      check(source, launch, {.print = [&](std::string_view text) { heard += text; }});
  EXPECT_EQ(heard, "seven 7\n");
  EXPECT_EQ(result.printed, "");
}

TEST_F(CheckTest, ARungBringsItsLaunch) {
  const CheckResult result = check(LadderRung{"matmul/tiled", {.size = 33}, 16});
  EXPECT_TRUE(result.clean());
  EXPECT_EQ(result.target, "matmul/tiled_16, 33 x 33 x 33");
  EXPECT_EQ(result.ran.blocks, 9U);
  EXPECT_THAT(
      error_of(ErrorKind::usage, [] { check(LadderRung{"matmul/tiled"}, {.grid = Dim3{1}}); }),
      HasSubstr("matmul/tiled has its own launch"));
  EXPECT_THAT(error_of(ErrorKind::usage, [] { check(LadderRung{"matmul/tild"}); }),
              HasSubstr("tild"));
  EXPECT_THAT(error_of(ErrorKind::usage, [] { check(LadderRung{"mine"}); }),
              HasSubstr("neither a .cu or .ptx file nor OPERATION/VARIANT"));
}

TEST_F(CheckTest, NoRungReadsOperandsWithoutElements) {
  std::vector<std::string> reported;
  for (const char* variant :
       {"global_accumulator", "exchanged", "register_accumulator", "double_accumulator",
        "tiled_conflicts", "tiled_transposed", "tiled_padded", "tiled", "tiled_checked",
        "corner_turning", "register_tile_1d", "register_tile_2d", "vector_loads", "double_buffered",
        "warp_tiles"}) {
    const CheckResult result =
        check(LadderRung{std::string("matmul/") + variant, {.rows = 3, .columns = 5, .inner = 0}});
    if (!result.clean()) reported.emplace_back(variant);
  }
  EXPECT_THAT(reported, IsEmpty());
}

TEST_F(CheckTest, PtxWithoutALineTableIsItsOwnSource) {
  const SourceText ptx{
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 p) {\n  .reg .u64 %rd<3>;\n"
      "  ld.param.u64 %rd1, [p];\n  cvta.to.global.u64 %rd2, %rd1;\n"
      "  st.global.u32 [%rd2+16], 7;\n  ret;\n}\n",
      "k.ptx", SourceLanguage::ptx};
  const CheckResult result =
      check(ptx, {.grid = Dim3{1},
                  .block = Dim3{1},
                  .arguments = {LaunchArgument::array(DataType::int32, 4, Initial::zeros)}});
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_EQ(result.findings[0].kind, FindingKind::out_of_bounds);
  EXPECT_EQ(result.findings[0].first.place, (SourcePlace{"k.ptx", 8}));
}

TEST_F(CheckTest, Errors) {
  testing::TemporaryFolder folder;
  const std::string missing = folder / "none.cu";
  EXPECT_THAT(error_of(ErrorKind::bad_input, [&] { check(SourceFile{missing}); }),
              HasSubstr("none.cu"));
  EXPECT_THAT(error_of(ErrorKind::bad_input, [] { check(SourceText{"int x;\n"}, turn_launch()); }),
              HasSubstr("has no kernel"));
  EXPECT_THAT(error_of(ErrorKind::usage, [] { check(turn(), turn_launch(), {.device = "cpu"}); }),
              HasSubstr("only kernels on the emulated device"));
  LaunchDescription other = turn_launch();
  other.kernel = "trun";
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { check(turn(), other); }),
              HasSubstr("has no kernel \"trun\"; it has: turn"));
}

TEST_F(CheckTest, TheCompilersWords) {
  try {
    check(SourceText{"__global__ void k() { x = 1; }\n"}, {.grid = Dim3{1}, .block = Dim3{1}});
    FAIL() << "it compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_THAT(error.what(), HasSubstr("kernel.cu(1): error: identifier \"x\" is undefined"));
  }
}

/// The message of check() about a launch of turn() that does not fit.
LaunchError launch_error(const SourceText& source, const LaunchDescription& launch) {
  try {
    check(source, launch);
  } catch (const LaunchError& error) {
    return error;
  }
  throw std::logic_error("the launch was taken");
}

TEST_F(CheckTest, ALaunchThatDoesNotFitBringsOneThatDoes) {
  const LaunchError nothing = launch_error(turn(), {});
  EXPECT_STREQ(nothing.what(), "--grid is missing: how many blocks to launch");
  EXPECT_EQ(nothing.kind(), ErrorKind::usage);
  EXPECT_EQ(nothing.kernel(), "turn(int* x, int n)");
  EXPECT_EQ(nothing.suggestion().arguments.size(), 2U);

  SourceText with_launch = turn();
  with_launch.text += "void f(int* x) { turn<<<1, 64>>>(x, 64); }\n";
  LaunchDescription launch = turn_launch();
  launch.arguments.pop_back();
  const LaunchError few = launch_error(with_launch, launch);
  EXPECT_THAT(few.what(), HasSubstr("kernel turn has 2 parameters (x: a pointer, n: an integer of "
                                    "4 bytes), but 1 --arg was given"));
  EXPECT_EQ(few.suggestion().arguments[1].text, "i32:64");
  EXPECT_TRUE(check(with_launch, few.suggestion()).clean());

  launch = turn_launch();
  launch.arguments[1] = LaunchArgument::scalar(64.0);
  EXPECT_THAT(launch_error(turn(), launch).what(),
              HasSubstr("--arg f64:64: parameter 2 of kernel turn, n, is an integer of 4 bytes; "
                        "but 8 bytes were given"));
  launch = turn_launch();
  launch.grid.reset();
  EXPECT_EQ(launch_error(with_launch, launch).suggestion().grid, Dim3{1});
}

TEST_F(CheckTest, ArgumentsThatContradictThemselves) {
  LaunchDescription launch = turn_launch();
  launch.arguments[0].count.reset();
  EXPECT_THAT(launch_error(turn(), launch).what(), HasSubstr("the count may be left out only"));
  launch = turn_launch();
  launch.arguments[0] = LaunchArgument::array(std::vector<int>{1, 2, 3});
  launch.arguments[0].count = 4;
  EXPECT_THAT(launch_error(turn(), launch).what(),
              HasSubstr("--arg i32[4]: 16 bytes of elements are needed, but 12 were given"));
  launch.arguments[0] = LaunchArgument::array(DataType::int32, 1ULL << 60U, Initial::zeros);
  EXPECT_THAT(launch_error(turn(), launch).what(), HasSubstr("1 TiB is the most"));
  launch.arguments[0] = LaunchArgument::array(DataType::int32, 4, Initial::value);
  EXPECT_THAT(launch_error(turn(), launch).what(), HasSubstr("4 bytes of elements are needed"));
}

TEST_F(CheckTest, SuggestionsSayWhatIsGuessed) {
  const auto suggestion = [](const std::string& text) {
    const LaunchError error = launch_error(SourceText{text}, {});
    std::string arguments;
    for (const LaunchArgument& argument : error.suggestion().arguments) {
      arguments += argument.text + " ";
    }
    return std::pair(arguments, error.suggestion().guessed);
  };
  const std::string kernel = "__global__ void k(float* x, int n) { x[n] = 1; }\n";
  using Names = std::vector<std::string>;
  EXPECT_EQ(suggestion(kernel),
            std::pair(std::string("f32[256]=zeros i32:256 "), Names{"grid", "block", "x", "n"}));
  EXPECT_EQ(suggestion(kernel + "int main() { const int n = 9; float* d; cudaMalloc(&d, n * 4); "
                                "k<<<n / 2, 3>>>(d, n); }"),
            std::pair(std::string("f32[9]=zeros i32:9 "), Names{}));
  EXPECT_EQ(suggestion(kernel + "int main(int c, char** v) { int n = atoi(v[1]); float* d; "
                                "cudaMalloc(&d, n * 4); k<<<2, 3>>>(d, n); }"),
            std::pair(std::string("f32[6]=zeros i32:6 "), Names{"x", "n"}));
  EXPECT_EQ(suggestion("__global__ void k(int* x, int v) { x[0] = v; }\n"
                       "int main() { int* d; cudaMalloc(&d, 128); k<<<1, 32>>>(d, 0xdeadbeef); }"),
            std::pair(std::string("i32[32]=zeros i32:-559038737 "), Names{}));
  EXPECT_EQ(suggestion("struct S { float* p[42]; int n; };\n"
                       "__global__ void k(S s) { s.p[4][0] = s.n; }\n"
                       "int main() { S s; k<<<1, 8>>>(s); }"),
            std::pair(std::string("{42*f32[8]=zeros, i32:8} "), Names{"s"}));
}

TEST_F(CheckTest, GuessedLaunchesFitWhatTheSourceSays) {
  const auto extents = [](const std::string& body) {
    const LaunchDescription launch =
        launch_error(SourceText{"__global__ void k(float* x) { " + body + " }\n"}, {}).suggestion();
    return std::tuple(launch.grid->x, launch.block->x, launch.block->y, launch.shared_bytes);
  };
  EXPECT_EQ(extents("x[threadIdx.x] = 1;"), std::tuple(1, 256, 1, 0));
  EXPECT_EQ(extents("x[blockIdx.x * blockDim.x + threadIdx.x] = 1;"), std::tuple(4, 256, 1, 0));
  EXPECT_EQ(extents("atomicAdd(x, 1.f);"), std::tuple(4, 256, 1, 0));
  EXPECT_EQ(extents("__shared__ float s[64], t[300]; s[threadIdx.x] = x[0];"),
            std::tuple(1, 64, 1, 0));
  EXPECT_EQ(extents("__shared__ float s[4]; s[threadIdx.x / 32] = 1;"), std::tuple(1, 128, 1, 0));
  EXPECT_EQ(extents("__shared__ float s[n]; s[threadIdx.x] = 1;"), std::tuple(1, 256, 1, 0));
  EXPECT_EQ(extents("__shared__ float s[32][33]; s[threadIdx.y][threadIdx.x] = 1;"),
            std::tuple(1, 32, 32, 0));
  EXPECT_EQ(extents("x[threadIdx.y * 16 + threadIdx.x] = 1;"), std::tuple(1, 16, 16, 0));
  EXPECT_EQ(extents("extern __shared__ float s[]; s[threadIdx.x] = 1;"),
            std::tuple(1, 256, 1, 4096));
}

TEST_F(CheckTest, SuggestionsForKernelsThatNoTextDeclares) {
  const SourceText ptx{
      ".version 8.5\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 a, .param .f32 b, .param .u32 c) {\n"
      ".reg .b64 %a;\n.reg .b32 %c;\nld.param.u64 %a, [a];\nld.param.u32 %c, [c];\n"
      "st.global.u32 [%a], %c;\nret;\n}\n",
      "k.ptx", SourceLanguage::ptx};
  const LaunchError error = launch_error(ptx, {});
  EXPECT_EQ(error.kernel(), "k(void*, float, int)");
  EXPECT_EQ(error.suggestion().arguments.size(), 3u);
  EXPECT_TRUE(check(ptx, error.suggestion()).clean());
  const SourceText texture{
      "__global__ void k(float* x, cudaTextureObject_t t) { x[0] = tex1D<float>(t, 0.f); }\n"};
  EXPECT_EQ(launch_error(texture, {}).suggestion().arguments.at(1).text, "u64:0");
}

TEST_F(CheckTest, TheSuggestionForAFaultyProgramFindsItsFault) {
  const std::string kernel =
      "__global__ void k(float* x, int w, int h) { int c = blockIdx.x * blockDim.x + threadIdx.x, "
      "r = blockIdx.y * blockDim.y + threadIdx.y; x[r * w + c] = 2; }\n";
  const SourceText source{kernel +
                          "int main() { const int w = 100, h = 60; float* d; "
                          "cudaMalloc(&d, w * h * sizeof(float)); dim3 b(16, 16), g; "
                          "g.x = (w + b.x - 1) / b.x; g.y = ceil(h / (double)b.y); "
                          "k<<<g, b>>>(d, w, h); }"};
  const LaunchDescription launch = launch_error(source, {}).suggestion();
  EXPECT_THAT(launch.guessed, IsEmpty());
  const CheckResult result = check(source, launch);
  EXPECT_FALSE(result.clean());
  EXPECT_THAT(result.guessed, IsEmpty());
}

TEST_F(CheckTest, SharedVariablesThatTheCompilerRemoved) {
  const auto kernel = [](const char* stored) {
    return SourceText{
        "__global__ void k(int* y, int n) {\n"
        "  __shared__ int tile[64];\n"
        "  tile[threadIdx.x] = y[threadIdx.x];\n"
        "  y[threadIdx.x] = " +
            std::string(stored) + ";\n}\n",
        "kernel.cu"};
  };
  const LaunchDescription launch{
      .grid = Dim3{1},
      .block = Dim3{32},
      .arguments = {LaunchArgument::array(DataType::int32, 32, Initial::zeros),
                    LaunchArgument::scalar(5)}};
  const CheckResult removed = check(kernel("n"), launch);
  ASSERT_EQ(removed.findings.size(), 1U);
  EXPECT_EQ(removed.findings[0].kind, FindingKind::compiled_away);
  EXPECT_EQ(removed.findings[0].severity, Severity::note);
  EXPECT_EQ(removed.findings[0].first.place, (SourcePlace{"kernel.cu", 3}));
  EXPECT_THAT(message(removed.findings[0]), HasSubstr("nothing of 'tile'"));
  EXPECT_TRUE(removed.clean());
  for (const Finding& finding : check(kernel("tile[threadIdx.x]"), launch).findings) {
    EXPECT_NE(finding.kind, FindingKind::compiled_away);
  }
}

}  // namespace
}  // namespace tilescope
