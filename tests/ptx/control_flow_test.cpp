#include "ptx/control_flow.hpp"

#include <chrono>
#include <random>

#include "parse_text.hpp"

namespace tilescope::ptx {
namespace {

using ::testing::ElementsAre;

ControlFlow flow_of(std::string_view body) {
  return build_control_flow(parse_kernel(body).functions[0]);
}

TEST(ControlFlow, IfElseMeetsBehindBoth) {
  const ControlFlow flow = flow_of(R"(
  setp.eq.s32 %p1, %r1, 0;
  @%p1 bra ELSE;
  mov.b32 %r1, 1;
  bra END;
ELSE: mov.b32 %r1, 2;
END: ret;)");
  ASSERT_EQ(flow.blocks.size(), 4u);
  EXPECT_THAT(flow.blocks[0].successors, ElementsAre(1, 2)) << "fall-through first";
  EXPECT_THAT(flow.blocks[1].successors, ElementsAre(3));
  EXPECT_EQ(flow.reconvergence(1), 5u);
  EXPECT_EQ(flow.block_of[4], 2u);
  EXPECT_TRUE(flow.blocks[3].exits);
  EXPECT_EQ(flow.blocks[3].immediate_post_dominator, no_index);
}

TEST(ControlFlow, LoopMeetsBehindItsExit) {
  const ControlFlow flow = flow_of("LOOP: add.s32 %r1, %r1, 1;\n@%p1 bra LOOP;\nret;");
  EXPECT_EQ(flow.reconvergence(1), 2u);
}

TEST(ControlFlow, EarlyExitLeavesNothingToMeet) {
  const ControlFlow flow = flow_of("@%p1 bra OUT;\nmov.b32 %r1, 1;\nret;\nOUT: exit;");
  EXPECT_EQ(flow.reconvergence(0), no_index);
  const ControlFlow guarded = flow_of("@%p1 exit;\nmov.b32 %r1, 1;\nret;");
  EXPECT_TRUE(guarded.blocks[0].exits);
  EXPECT_THAT(guarded.blocks[0].successors, ElementsAre(1));
  EXPECT_EQ(guarded.reconvergence(0), no_index);
}

TEST(ControlFlow, TheEndOfTheTextIsAReturn) {
  const ControlFlow flow = flow_of("@%p1 bra END;\nmov.b32 %r1, 1;\nEND:");
  EXPECT_TRUE(flow.blocks[0].exits);
  EXPECT_TRUE(flow.blocks[1].exits);
  EXPECT_EQ(flow.reconvergence(0), no_index);
}

TEST(ControlFlow, IndexedBranchGoesToEveryTargetOnce) {
  const ControlFlow flow = flow_of(
      "t: .branchtargets A, B, A, C;\nbrx.idx %r1, t;\nA: nanosleep.u32 1;\nbra C;\n"
      "B: nanosleep.u32 2;\nC: ret;");
  EXPECT_THAT(flow.blocks[0].successors, ElementsAre(1, 2, 3));
  EXPECT_EQ(flow.reconvergence(0), 4u);
}

TEST(ControlFlow, AnEndlessLoopHasPlacesToMeet) {
  const ControlFlow flow = flow_of(R"(
LOOP: @%p1 bra ODD;
  mov.b32 %r1, 1;
  bra NEXT;
ODD: mov.b32 %r1, 2;
NEXT: add.s32 %r1, %r1, 1;
  bra LOOP;)");
  EXPECT_EQ(flow.reconvergence(0), 4u);
}

TEST(ControlFlow, AFailedAssertionDoesNotPartTheOthers) {
  const ControlFlow flow = flow_of("@%p1 bra FINE;\ntrap;\nFINE: mov.b32 %r1, 1;\nret;");
  EXPECT_EQ(flow.reconvergence(0), 2u);
}

TEST(ControlFlow, EmptyAndUnreachable) {
  EXPECT_TRUE(flow_of("").blocks.empty());
  const ControlFlow flow = flow_of("ret;\nmov.b32 %r1, 1;\nret;");
  ASSERT_EQ(flow.blocks.size(), 2u);
  EXPECT_TRUE(flow.blocks[0].successors.empty());
}

/// Blocks that can reach an exit without passing `without`; exit_count is the graph's virtual exit.
std::vector<bool> reaching_exit(const ControlFlow& flow, std::uint32_t without) {
  std::vector<bool> reaches(flow.blocks.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t b = 0; b < flow.blocks.size(); ++b) {
      if (b == without || reaches[b]) continue;
      bool now = flow.blocks[b].exits;
      for (const std::uint32_t s : flow.blocks[b].successors) now = now || reaches[s];
      if (now) reaches[b] = changed = true;
    }
  }
  return reaches;
}

/// By the definition: of the blocks that every path to an exit passes, the one that all the
/// others are passed after.
std::vector<std::uint32_t> slow_post_dominators(const ControlFlow& flow) {
  const auto count = static_cast<std::uint32_t>(flow.blocks.size());
  std::vector<std::vector<bool>> dominates(count);  // [d][b]: d on every path from b
  for (std::uint32_t d = 0; d < count; ++d) {
    dominates[d] = reaching_exit(flow, d);
    dominates[d].flip();
  }
  std::vector<std::uint32_t> immediate(count, no_index);
  for (std::uint32_t b = 0; b < count; ++b) {
    for (std::uint32_t d = 0; d < count; ++d) {
      if (d == b || !dominates[d][b]) continue;
      bool nearest = true;
      for (std::uint32_t other = 0; other < count; ++other) {
        if (other != b && dominates[other][b] && !dominates[other][d]) nearest = false;
      }
      if (nearest) immediate[b] = d;
    }
  }
  return immediate;
}

TEST(ControlFlow, AgreesWithTheDefinitionOnRandomGraphs) {
  std::mt19937 random(7);
  int compared = 0;
  for (int graph = 0; graph < 400; ++graph) {
    const int blocks = 2 + static_cast<int>(random() % 14);
    std::string body;
    for (int b = 0; b < blocks; ++b) {
      const auto target = [&] { return std::to_string(random() % static_cast<unsigned>(blocks)); };
      body += "L" + std::to_string(b) + ": nanosleep.u32 1;\n";
      switch (random() % 6) {
        case 0:
          body += "ret;\n";
          break;
        case 1:
          body += "@%p1 exit;\n";
          break;
        case 2:
          body += "bra L" + target() + ";\n";
          break;
        default:
          body += "@%p1 bra L" + target() + ";\n";
      }
    }
    const ControlFlow flow = flow_of(body);
    const std::vector<bool> reaches = reaching_exit(flow, no_index);
    if (std::find(reaches.begin(), reaches.end(), false) != reaches.end()) continue;
    ++compared;
    const auto expected = slow_post_dominators(flow);
    for (std::size_t b = 0; b < flow.blocks.size(); ++b) {
      EXPECT_EQ(flow.blocks[b].immediate_post_dominator, expected[b]) << "block " << b << "\n"
                                                                      << body;
    }
  }
  EXPECT_GT(compared, 100);
}

TEST(ControlFlow, LargeGraphsTakeNoLongerThanTheirSize) {
  // Pairs of long chains whose meeting point is far below: quadratic for a naive walk.
  std::string body;
  for (int i = 0; i < 20000; ++i) body += "@%p1 bra E1;\n@%p1 bra E2;\n";
  for (const char* chain : {"E1", "E2"}) {
    body += std::string(chain) + ":";
    for (int i = 0; i < 20000; ++i) {
      const std::string label = std::string(chain) + "_" + std::to_string(i);
      body += "@%p1 bra " + label + ";\n" + label + ":";
    }
    body += "bra X;\n";
  }
  body += "X: ret;";
  const Module module = parse_kernel(body);
  const auto begin = std::chrono::steady_clock::now();
  const ControlFlow flow = build_control_flow(module.functions[0]);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_EQ(flow.reconvergence(0), module.functions[0].instructions.size() - 1);
}

}  // namespace
}  // namespace tilescope::ptx
