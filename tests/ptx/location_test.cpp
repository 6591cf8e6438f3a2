#include "ptx/location.hpp"

#include "parse_text.hpp"

namespace tilescope::ptx {
namespace {

constexpr const char* nested = R"(
.file 1 "kernel.cu"
.file 2 "include/helper.h"
.entry k() {
  .loc 1 10 3
  exit;
  .loc 2 20 5, function_name $name0, inlined_at 1 10 3
  exit;
  .loc 2 30 7, function_name $name1, inlined_at 2 20 5
  exit;
  .loc 1 11 1
  exit;
  .loc 2 20 5, function_name $name0, inlined_at 1 11 1
  .loc 2 30 7, function_name $name0+6, inlined_at 2 20 5
  exit;
}
.section .debug_str
{
$name0:
.b8 111,117,116,101,114,0
$name1:
.b8 105,110,110,101,114,0
}
.section .debug_info
{
.b32 12, 13
.b64 $name0
}
)";

TEST(Location, CallsOfAnInlinedLineAreNamedInnermostFirst) {
  const Module module = parse_text(R"(
.file 1 "kernel.cu"
.file 2 "helper.h"
.file 3 "/usr/local/cuda/include/cuda/std/detail/atomic.h"
.entry k() {
  .loc 1 10 3
  exit;
  .loc 2 20 5, function_name $name0, inlined_at 1 10 3
  exit;
  .loc 3 7 1, function_name $name0, inlined_at 2 20 5
  exit;
  .loc 2 30 5, function_name $name0, inlined_at 3 7 1
  exit;
}
.section .debug_str
{
$name0:
.b8 111,0
}
)");
  const auto calls = [&](std::size_t i) {
    std::vector<std::uint32_t> lines;
    for (const InlinedLocation& call :
         calls_of_own_line(module, module.functions[0].instructions.at(i))) {
      lines.push_back(call.line);
    }
    return lines;
  };
  using Lines = std::vector<std::uint32_t>;
  EXPECT_EQ(calls(0), Lines{}) << "the kernel's own";
  EXPECT_EQ(calls(1), Lines{10});
  EXPECT_EQ(calls(2), Lines{10}) << "the toolkit's line counts for line 20, which calls it";
  EXPECT_EQ(calls(3), (Lines{20, 10})) << "a function that the toolkit calls";
}

// The compiler joins the stores of an if and its else, and gives the one store line 0.
TEST(Location, AMovedStoreHasThePlaceOfItsValue) {
  const Module module = parse_text(R"(
.file 1 "kernel.cu"
.entry k() {
  .reg .b32 a, v, w; .reg .pred p;
  .loc 1 4 1
  mov.u32 v, 0; mov.u32 w, 1;
  @p bra L;
  .loc 1 5 1
  ld.shared.u32 v, [a];
L:
  .loc 1 0 0
  st.shared.u32 [a], v;
  st.shared.v2.u32 [a], {w, v};
  st.shared.u32 [a], 7;
  mov.u32 w, v;
  st.shared.u32 [a], w;
  .loc 1 9 1
  st.shared.u32 [a], v;
})");
  const auto& code = module.functions[0].instructions;
  const auto line = [&](std::size_t i) { return module.locations[code.at(i).location].line; };
  EXPECT_EQ(line(4), 5u);
  EXPECT_EQ(line(5), 4u) << "its first element that has a place";
  EXPECT_EQ(line(6), 0u) << "a constant was computed nowhere";
  EXPECT_EQ(line(7), 0u) << "it is no store";
  EXPECT_EQ(line(8), 4u);
  EXPECT_EQ(line(9), 9u) << "it has a line of its own";
}

TEST(Location, ChainsOfInlinedCalls) {
  const Module module = parse_text(nested);
  const auto& code = module.functions[0].instructions;
  EXPECT_EQ(inline_chain(module, code[0]).size(), 1u);

  const auto one = inline_chain(module, code[1]);
  ASSERT_EQ(one.size(), 2u);
  EXPECT_EQ(one[0].file, "include/helper.h");
  EXPECT_EQ(one[0].line, 20u);
  EXPECT_EQ(one[0].column, 5u);
  EXPECT_EQ(one[0].function, "outer");
  EXPECT_EQ(one[1].file, "kernel.cu");
  EXPECT_EQ(one[1].line, 10u);
  EXPECT_EQ(one[1].function, "");

  const auto two = inline_chain(module, code[2]);
  ASSERT_EQ(two.size(), 3u);
  EXPECT_EQ(two[0].line, 30u);
  EXPECT_EQ(two[0].function, "inner");
  EXPECT_EQ(two[1].function, "outer");
  EXPECT_EQ(two[2].line, 10u);
}

TEST(Location, AnInlinedPlaceRefersToTheLatestCall) {
  const Module module = parse_text(nested);
  const auto& code = module.functions[0].instructions;
  const auto chain = inline_chain(module, code[4]);
  ASSERT_EQ(chain.size(), 3u);
  EXPECT_EQ(chain[2].line, 11u) << "20:5 was last inlined at line 11";
  EXPECT_EQ(chain[0].function, "inner") << "six bytes behind $name0";
}

TEST(Location, WithoutALineTableThereIsNone) {
  const Module module = parse_kernel("exit;");
  EXPECT_EQ(module.functions[0].instructions[0].location, no_index);
  EXPECT_TRUE(inline_chain(module, module.functions[0].instructions[0]).empty());
  EXPECT_EQ(module.functions[0].instructions[0].line, 10u) << "in the text of the PTX";
}

TEST(Location, DoesNotReachFromOneFunctionIntoTheNext) {
  const Module module = parse_text(".entry a() { .loc 1 5 5\n exit; }\n.entry b() { exit; }");
  EXPECT_NE(module.functions[0].instructions[0].location, no_index);
  EXPECT_EQ(module.functions[1].instructions[0].location, no_index);
}

TEST(Location, ACallNeverSeenStandsForItself) {
  const Module module =
      parse_text(".entry a() {\n.loc 1 5 5, function_name nowhere, inlined_at 1 7 7\nexit; }");
  const auto chain = inline_chain(module, module.functions[0].instructions[0]);
  ASSERT_EQ(chain.size(), 2u);
  EXPECT_EQ(chain[0].file, "") << "no .file 1";
  EXPECT_EQ(chain[0].function, "");
  EXPECT_EQ(chain[1].line, 7u);
}

TEST(Location, EndlessChainsAreCut) {
  std::string text = ".entry a() {\n.loc 1 1 1\n";
  for (int i = 0; i < 5000; ++i) text += ".loc 1 1 1, function_name x, inlined_at 1 1 1\n";
  const Module module = parse_text(text + "exit; }");
  EXPECT_EQ(inline_chain(module, module.functions[0].instructions[0]).size(), 256u);
}

}  // namespace
}  // namespace tilescope::ptx
