// Blocks without barriers that follow each other inside compiled code: each thread takes a number
// from a counter of the launch, so the order of all warps shows.
#include <string>
#include <string_view>

#include "emulator/turns.hpp"

namespace tilescope::emulator::test {
namespace {

constexpr std::string_view kTakes = R"(  mov.u64 %rd4, total;
  atom.global.add.u32 %r7, [%rd4], 1;
  st.global.u32 [%rd3], %r7;
  st.global.u32 [%rd3+4], %r2;
)";

/// Behind kTakes or before it, lanes of one warp in some blocks part three times: the warp leaves
/// compiled code.
constexpr std::string_view kPart = R"(  and.b32 %r6, %r2, 7;
  setp.ne.u32 %p1, %r6, 3;
  @%p1 bra meet;
  sub.u32 %r8, %r1, 32;
  setp.gt.u32 %p2, %r8, 20;
  @%p2 bra meet;
  setp.gt.u32 %p3, %r8, 10;
  @%p3 bra inner;
  setp.gt.u32 %p1, %r8, 5;
  @%p1 bra innermost;
  add.u32 %r6, %r6, 1;
innermost:
  add.u32 %r6, %r6, 2;
inner:
  add.u32 %r6, %r6, %r1;
meet:
  st.global.u32 [%rd3+8], %r6;
  st.global.u32 [%rd3+12], %r2;
)";

constexpr std::string_view kEnd = "  ret;\n}\n";

std::string body_of(std::string_view first, std::string_view second = {}) {
  return std::string(first) + std::string(second) + std::string(kEnd);
}

/// The first warps of all blocks come before the second ones of the same block.
TEST(CompiledBlocks, WithoutBarriersFollowInTheOrderOfTheInterpreter) {
  const TurnsOutcome interpreted = expect_as_interpreted(body_of(kTakes));
  for (std::uint32_t thread = 0; thread < kTurnBlocks * kTurnThreads; ++thread) {
    ASSERT_EQ(interpreted.numbers[std::size_t{thread} * kTurnRounds], thread);
  }
}

TEST(CompiledBlocks, WithoutBarriersFollowOneThatAWarpHasLeft) {
  expect_as_interpreted(body_of(kTakes, kPart));
  expect_as_interpreted(body_of(kPart, kTakes));
}

/// Warps of odd blocks leave before the others of their block have begun to store.
TEST(CompiledBlocks, WithoutBarriersEndWhereLanesLeave) {
  expect_as_interpreted(R"(  mov.u64 %rd4, total;
  atom.global.add.u32 %r7, [%rd4], 1;
  and.b32 %r6, %r2, 1;
  mad.lo.u32 %r6, %r6, 40, %r2;
  setp.lt.u32 %p1, %r1, %r6;
  @%p1 bra done;
  st.global.u32 [%rd3], %r7;
done:
  ret;
}
)");
}

/// Every fourth block looks at a word a hundred times: its warps spin, and others run meanwhile.
TEST(CompiledBlocks, WithoutBarriersLetOthersRunWhereTheySpin) {
  const TurnsOutcome interpreted = expect_as_interpreted(R"(  mov.u64 %rd4, total;
  and.b32 %r6, %r2, 3;
  setp.eq.u32 %p1, %r6, 1;
  selp.u32 %r6, 100, 1, %p1;
again:
  ld.volatile.global.u32 %r8, [%rd4];
  sub.u32 %r6, %r6, 1;
  setp.gt.s32 %p1, %r6, 0;
  @%p1 bra again;
  atom.global.add.u32 %r7, [%rd4], 1;
  st.global.u32 [%rd3], %r7;
  ret;
}
)");
  EXPECT_GT(interpreted.numbers[std::size_t{kTurnThreads} * kTurnRounds],
            interpreted.numbers[std::size_t{2} * kTurnThreads * kTurnRounds]);
}

}  // namespace
}  // namespace tilescope::emulator::test
