// The order in which the warps of a block run inside compiled code is the interpreter's: each warp
// takes a number from a counter in shared memory before and behind every barrier. Some warps wait
// together, some leave compiled code because their lanes part, and a limit may end the launch.
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "emulator/turns.hpp"

namespace tilescope::emulator::test {
namespace {

/// How the warps of a block go from barrier to barrier.
enum class Barriers {
  loop,          ///< in a loop that gives its turn to others
  parting_loop,  ///< the same; in block b the lanes below b of a round add one
  straight,      ///< one barrier behind the other
  parting,       ///< the same, where lanes part as in the loop
  leaving,       ///< the same; the last warp leaves before the third barrier
  no_clock,      ///< the same before the fourth, at which the others wait; nothing is interpreted
  of_warps,      ///< straight; each warp has compiled code of its own, with other rounds of a loop
};

std::string parts(int round) {
  return fmt::format(R"(  setp.ge.u32 %p1, %r1, %r2;
  @%p1 bra together{0};
  add.u32 %r7, %r7, 1000000;
together{0}:
)",
                     round);
}

/// Some lanes of the second warp go round three times, as the first does, the others twice. The
/// last warp has no code for the loop behind.
constexpr std::string_view kTile = R"(  mov.u32 %r9, %r1;
  mov.u32 %r10, 0;
tile:
  mul.hi.u32 %r11, %r9, 2021161081;
  shr.u32 %r11, %r11, 4;
  mad.lo.u32 %r10, %r11, 34, %r10;
  add.u32 %r9, %r9, 96;
  setp.lt.u32 %p2, %r9, 230;
  @%p2 bra tile;
  mad.lo.u32 %r10, %r10, 1000000, %r2;
  setp.ge.u32 %p3, %r1, 64;
  @%p3 bra behind;
  and.b32 %r9, %r2, 3;
loop:
  add.u32 %r10, %r10, 5000000;
  add.u32 %r9, %r9, 1;
  setp.lt.u32 %p2, %r9, 5;
  @%p2 bra loop;
behind:
)";

/// In block b the lanes below b go another way than the others: their warp leaves compiled code,
/// while the other warps wait in theirs.
constexpr std::string_view kBothSides = R"(  setp.ge.u32 %p1, %r1, %r2;
  @%p1 bra above;
  add.u32 %r7, %r7, 10000000;
  bra.uni met;
above:
  add.u32 %r7, %r7, 30000000;
met:
)";

/// Every thread takes a number in each round.
std::string turns(Barriers way) {
  std::string text = std::string(kHeader) + std::string(kTurnBegin);
  if (way == Barriers::loop || way == Barriers::parting_loop) {
    return text + R"(  mov.u32 %r6, 0;
again:
  atom.shared.add.u32 %r7, [%r5], 1;
)" + (way == Barriers::parting_loop ? parts(0) : "") +
           R"(  st.global.u32 [%rd3], %r7;
  bar.sync 0;
  add.u64 %rd3, %rd3, 4;
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p2, %r6, 6;
  @%p2 bra again;
  ret;
}
)";
  }
  if (way == Barriers::of_warps) text += kTile;
  for (int round = 0; round < static_cast<int>(kTurnRounds); ++round) {
    text += "  atom.shared.add.u32 %r7, [%r5], 1;\n";
    if (way != Barriers::no_clock) {
      text += "  mov.u32 %r8, %clock;\n  mad.lo.u32 %r7, %r8, 65536, %r7;\n";
    }
    if (way == Barriers::parting) text += parts(round);
    if (way == Barriers::of_warps) text += "  add.u32 %r7, %r7, %r10;\n";
    if (way == Barriers::of_warps && round == 3) text += kBothSides;
    text += "  st.global.u32 [%rd3], %r7;\n  add.u64 %rd3, %rd3, 4;\n";
    if ((way == Barriers::leaving && round == 2) || (way == Barriers::no_clock && round == 3)) {
      text += "  setp.ge.u32 %p1, %r1, 64;\n  @%p1 bra done;\n";
    }
    text += "  bar.sync 0;\n";
  }
  return text + "done:\n  ret;\n}\n";
}

class CompiledTurns : public ::testing::TestWithParam<Barriers> {
 protected:
  void SetUp() override { setenv("TILESCOPE_COMPILE_AFTER", "2", 1); }
  void TearDown() override { unsetenv("TILESCOPE_COMPILE_AFTER"); }
};

TEST_P(CompiledTurns, AreInTheOrderOfTheInterpreter) {
  const TurnsOutcome interpreted = run_turns(turns(GetParam()), 0, true);
  const TurnsOutcome compiled = run_turns(turns(GetParam()), 0, false);
  EXPECT_EQ(interpreted.summary.end, LaunchEnd::complete);
  EXPECT_EQ(compiled.summary.end, LaunchEnd::complete);
  EXPECT_EQ(interpreted.summary.warp_instructions, compiled.summary.warp_instructions);
  EXPECT_EQ(interpreted.numbers, compiled.numbers);
  // The warp that completes a barrier takes the next number before those that waited there.
  const std::uint32_t last = (kTurnThreads - 32) * kTurnRounds, first = 0;
  if (GetParam() == Barriers::loop || GetParam() == Barriers::parting_loop) {
    EXPECT_LT(interpreted.numbers[last + 1] % 1'000'000,
              interpreted.numbers[first + 1] % 1'000'000);
  }
}

TEST_P(CompiledTurns, EndAtTheSameInstruction) {
  for (const std::uint64_t limit : {1u, 100u, 999u, 2'000u, 3'500u}) {
    const TurnsOutcome interpreted = run_turns(turns(GetParam()), limit, true);
    const TurnsOutcome compiled = run_turns(turns(GetParam()), limit, false);
    EXPECT_EQ(interpreted.summary.end, LaunchEnd::budget_spent) << limit;
    EXPECT_EQ(compiled.summary.end, LaunchEnd::budget_spent) << limit;
    EXPECT_EQ(interpreted.summary.warp_instructions, compiled.summary.warp_instructions) << limit;
    EXPECT_EQ(interpreted.numbers, compiled.numbers) << limit;
  }
}

/// Every warp adds five times or less in a loop without barriers, and keeps what it found last.
constexpr std::string_view kSums = R"(  shr.u32 %r6, %r1, 5;
again:
  atom.shared.add.u32 %r7, [%r5], 1;
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p1, %r6, 5;
  @%p1 bra again;
  st.global.u32 [%rd3], %r7;
  atom.shared.add.u32 %r8, [%r5], 100;
  st.global.u32 [%rd3+4], %r8;
  ret;
}
)";

/// A loop that may wait for others gives them a turn in each round, and goes on in compiled code
/// behind its last one.
TEST(CompiledLoops, GiveTurnsToOthersInEachRound) {
  const TurnsOutcome interpreted = expect_as_interpreted(kSums);
  // Five rounds of the first warp, four of the second, three of the last, which is done first.
  EXPECT_EQ(interpreted.numbers[64 * kTurnRounds], 8u * 32);
  EXPECT_EQ(interpreted.numbers[0], 11u * 32 + 2 * 32 * 100);
}

/// In each round the warp adds numbers that the round before has computed: one of known shape, and
/// one that has none where the loop begins.
constexpr std::string_view kNumbers = R"(  ld.global.u32 %r8, [%rd3];
  mov.u32 %r6, 1;
again:
  atom.shared.add.u32 %r7, [%r5], %r6;
  atom.shared.add.u32 %r9, [%r5], %r8;
  mul.lo.u32 %r8, %r6, 3;
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p1, %r6, 12;
  @%p1 bra again;
  bar.sync 0;
  ld.shared.u32 %r10, [%r5];
  st.global.u32 [%rd3], %r7;
  st.global.u32 [%rd3+4], %r9;
  st.global.u32 [%rd3+8], %r10;
  ret;
}
)";

TEST(CompiledLoops, AddTheNumbersOfTheRoundBefore) {
  expect_as_interpreted(kNumbers);
}

/// Behind its loop each warp writes the number of rounds anew, lane by lane, and then its lanes
/// part on two ways, where it leaves compiled code while the others may still be in the loop.
constexpr std::string_view kPartsBehind = R"(  and.b32 %r9, %r1, 7;
  mul.lo.u32 %r9, %r9, %r9;
  mov.u32 %r6, 0;
  bar.sync 0;
again:
  atom.shared.add.u32 %r7, [%r5], %r6;
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p1, %r6, 4;
  @%p1 bra again;
  xor.b32 %r6, %r9, 5;
  setp.lt.u32 %p2, %r9, 20;
  @%p2 bra low;
  add.u32 %r6, %r6, 1000;
  bra.uni meet;
low:
  add.u32 %r6, %r6, 2000;
meet:
  st.global.u32 [%rd3], %r6;
  st.global.u32 [%rd3+4], %r7;
  bar.sync 0;
  ld.shared.u32 %r10, [%r5];
  st.global.u32 [%rd3+8], %r10;
  ret;
}
)";

TEST(CompiledLoops, KeepWhatIsWrittenBehindThem) {
  const TurnsOutcome interpreted = expect_as_interpreted(kPartsBehind);
  EXPECT_EQ(interpreted.numbers[0], 2005u);
  EXPECT_EQ(interpreted.numbers[5 * kTurnRounds], 1028u);  // 25 ^ 5
}

/// Behind a barrier every warp looks 100 times whether others have changed something, in every
/// other block 10 times, and then takes a number from a counter of all blocks.
constexpr std::string_view kLooks = R"(  mov.u64 %rd4, total;
  and.b32 %r6, %r2, 1;
  mad.lo.s32 %r6, %r6, -90, 100;
  bar.sync 0;
again:
  ld.volatile.global.u32 %r8, [%rd4];
  sub.u32 %r6, %r6, 1;
  setp.gt.s32 %p1, %r6, 0;
  @%p1 bra again;
  atom.global.add.u32 %r7, [%rd4], 1;
  st.global.u32 [%rd3], %r7;
  ret;
}
)";

/// A block whose warps only spin gives others a turn after some rounds.
TEST(CompiledLoops, LetOtherBlocksRunInTheOrderOfTheInterpreter) {
  const TurnsOutcome interpreted = expect_as_interpreted(kLooks);
  EXPECT_GT(interpreted.numbers[0],
            interpreted.numbers[kTurnThreads * kTurnRounds]);  // of two blocks
}

/// The block in the middle crosses 1.7 million barriers, in more than 20 million warp instructions.
/// Then each thread takes a number.
constexpr std::string_view kLong = R"(  mov.u64 %rd4, total;
  mov.u32 %r6, 1;
  setp.ne.u32 %p1, %r2, 20;
  @%p1 bra again;
  mov.u32 %r6, 1700000;
again:
  bar.sync 0;
  sub.u32 %r6, %r6, 1;
  setp.ne.u32 %p1, %r6, 0;
  @%p1 bra again;
  atom.global.add.u32 %r7, [%rd4], 1;
  st.global.u32 [%rd3], %r7;
  ret;
}
)";

/// A block that has run long lets others run, wherever it is.
TEST(CompiledLoops, LetOtherBlocksRunAfterALongTime) {
  setenv("TILESCOPE_COMPILE_AFTER", "2", 1);
  const TurnsOutcome outcome = run_turns(turns_kernel(kLong), 0, false);
  for (const std::size_t warp : {0u, 1u, 2u}) {
    EXPECT_GT(outcome.numbers[(20 * kTurnThreads + warp * 32) * kTurnRounds],
              outcome.numbers[(21 * kTurnThreads + warp * 32) * kTurnRounds]);
  }
  unsetenv("TILESCOPE_COMPILE_AFTER");
}

/// Every thread adds to a word and to a long of its own, those of odd blocks below lane 20 only;
/// and those from lane 12 on, whose address the others do not have.
constexpr std::string_view kNeighbours = R"(  mad.lo.u32 %r6, %r2, 96, %r1;
  mul.wide.u32 %rd2, %r6, 8;
  add.u64 %rd2, %rd1, %rd2;
  mul.wide.u32 %rd3, %r6, 4;
  add.u64 %rd3, %rd1, %rd3;
  cvt.u64.u32 %rd4, %r4;
  red.global.add.u64 [%rd2], %rd4;
  and.b32 %r7, %r2, 1;
  setp.eq.u32 %p1, %r7, 0;
  and.b32 %r8, %r1, 31;
  setp.lt.or.u32 %p1, %r8, 20, %p1;
  @!%p1 bra done;
  red.global.add.u32 [%rd3+30720], %r4;
  red.global.add.u32 [%rd3+46080], 3;
done:
  st.global.u32 [%rd3+61440], %r4;
  setp.lt.u32 %p2, %r8, 12;
  mov.u64 %rd4, %rd1;
  @%p2 bra last;
  add.u64 %rd4, %rd3, 30720;
  red.global.add.u32 [%rd4], %r4;
last:
  cvt.u32.u64 %r9, %rd4;
  st.global.u32 [%rd3+76800], %r9;
  ret;
}
)";

TEST(CompiledSums, OfNeighboursAreThoseOfTheInterpreter) {
  expect_as_interpreted(kNeighbours);
}

/// Two stores one behind the other, of which the second one's first lanes write where the first
/// one's last do; and a load before a store to where its last lanes read.
constexpr std::string_view kOverlaps = R"(  mul.wide.u32 %rd4, %r2, 2304;
  add.u64 %rd4, %rd1, %rd4;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd4, %rd4, %rd2;
  mul.lo.u32 %r7, %r4, %r4;
  xor.b32 %r8, %r7, 77;
  st.global.u32 [%rd4], %r7;
  st.global.u32 [%rd4+64], %r8;
  ld.global.u32 %r9, [%rd4];
  sub.u32 %r9, %r9, %r4;
  st.global.u32 [%rd4+64], %r9;
  ret;
}
)";

TEST(CompiledStores, OverlapAsThoseOfTheInterpreter) {
  const TurnsOutcome interpreted = expect_as_interpreted(kOverlaps);
  EXPECT_EQ(interpreted.numbers[31], 15u * 15 - 15);  // of lane 15, which has stored last there
}

/// Bits of two indices together: compared with another number than 0, read by others, and with
/// different signs in a warp.
constexpr std::string_view kSigns = R"(  add.u32 %r6, %r1, 3;
  or.b32 %r7, %r6, %r2;
  setp.lt.s32 %p1, %r7, 40;
  @%p1 bra small;
  st.global.u32 [%rd3], %r2;
small:
  or.b32 %r8, %r6, %r2;
  or.b32 %r9, %r8, 1;
  setp.lt.s32 %p2, %r8, 0;
  @%p2 bra middle;
  st.global.u32 [%rd3+4], %r9;
middle:
  sub.u32 %r10, %r1, %r2;
  or.b32 %r11, %r10, %r6;
  setp.ge.s32 %p3, %r11, 0;
  @!%p3 bra done;
  st.global.u32 [%rd3+8], %r6;
done:
  ret;
}
)";

TEST(CompiledSigns, AreThoseOfEachLane) {
  expect_as_interpreted(kSigns);
}

/// In every fourth block lanes of the first warp part three times, so that it leaves compiled code
/// before the others begin, which must know what block they are of.
constexpr std::string_view kLeavesEarly = R"(  and.b32 %r6, %r2, 3;
  setp.ne.u32 %p1, %r6, 3;
  @%p1 bra meet;
  setp.gt.u32 %p2, %r1, 20;
  @%p2 bra meet;
  setp.gt.u32 %p3, %r1, 10;
  @%p3 bra inner;
  setp.gt.u32 %p1, %r1, 5;
  @%p1 bra innermost;
  add.u32 %r6, %r6, 1;
innermost:
  add.u32 %r6, %r6, 2;
inner:
  add.u32 %r6, %r6, %r1;
meet:
  bar.sync 0;
  st.global.u32 [%rd3], %r6;
  ret;
}
)";

TEST(CompiledBlocks, FollowOneThatAWarpHasLeft) {
  expect_as_interpreted(kLeavesEarly);
}

std::string name_of(const ::testing::TestParamInfo<Barriers>& info) {
  constexpr std::string_view kNames[] = {
      "Loop",        "LanesPartInALoop",        "Straight",   "LanesPart",
      "AWarpLeaves", "AWarpLeavesWithoutClock", "CodeOfWarps"};
  return std::string(kNames[static_cast<std::size_t>(info.param)]);
}

INSTANTIATE_TEST_SUITE_P(Ways, CompiledTurns,
                         ::testing::Values(Barriers::loop, Barriers::parting_loop,
                                           Barriers::straight, Barriers::parting, Barriers::leaving,
                                           Barriers::no_clock, Barriers::of_warps),
                         name_of);

}  // namespace
}  // namespace tilescope::emulator::test
