// Numbers that all lanes share or that follow from the lane: where compiled code keeps them, and
// where it reads them.
#include "emulator/turns.hpp"

namespace tilescope::emulator::test {
namespace {

/// More numbers than registers keep, each read once and written again in the same straight line.
TEST(CompiledNumbers, AreReadFromMemoryWhereNoRegisterKeepsThem) {
  const TurnsOutcome outcome = expect_as_interpreted(R"(  .reg .b32 %n<8>;
  add.u32 %n0, %r2, 0;
  add.u32 %n1, %r2, 1;
  add.u32 %n2, %r2, 2;
  add.u32 %n3, %r2, 3;
  add.u32 %n4, %r2, 4;
  add.u32 %n5, %r2, 5;
  add.u32 %n6, %r2, 6;
  add.u32 %n7, %r2, 7;
  bar.sync 0;
  add.u32 %n0, %n0, 1;
  add.u32 %n1, %n0, %r2;
  add.u32 %n2, %n1, %r2;
  add.u32 %n3, %n2, %r2;
  add.u32 %n4, %n3, %r2;
  add.u32 %n5, %n4, %r2;
  add.u32 %n6, %n5, %r2;
  add.u32 %n7, %n6, %n0;
  mul.lo.u32 %n7, %n7, %n1;
  sub.u32 %n7, %n7, %n2;
  xor.b32 %n7, %n7, %n3;
  sub.u32 %n7, %n7, %n4;
  add.u32 %n7, %n7, %n5;
  sub.u32 %n7, %n7, %n6;
  mov.u32 %n0, %n7;
  mov.u32 %n1, %n7;
  mov.u32 %n2, %n7;
  mov.u32 %n3, %n7;
  mov.u32 %n4, %n7;
  mov.u32 %n5, %n7;
  mov.u32 %n6, %n7;
  mul.wide.u32 %rd4, %n7, 0;
  add.u64 %rd4, %rd3, %rd4;
  st.global.u32 [%rd4], %n0;
  st.global.u32 [%rd4+4], %n1;
  st.global.u32 [%rd4+8], %n2;
  st.global.u32 [%rd4+12], %n3;
  st.global.u32 [%rd4+16], %n4;
  st.global.u32 [%rd4+20], %n6;
  ret;
}
)");
  for (std::uint32_t block = 0; block < kTurnBlocks; ++block) {
    const std::uint32_t x = block, first = (8 * x + 2) * (2 * x + 1) - (3 * x + 1);
    const std::uint32_t expected = (first ^ (4 * x + 1)) - (5 * x + 1) + (6 * x + 1) - (7 * x + 1);
    EXPECT_EQ(outcome.numbers[std::size_t{block} * kTurnThreads * kTurnRounds], expected);
  }
}

/// The second operand of a comparison has just been computed; 64-bit constants are compared whole.
TEST(CompiledNumbers, AreComparedInTheirOrder) {
  const TurnsOutcome outcome = expect_as_interpreted(R"(  mov.u32 %r7, 0;
  mul.lo.u32 %r6, %r2, 3;
  sub.u32 %r8, 60, %r2;
  setp.lt.u32 %p1, %r6, %r8;
  @%p1 bra longs;
  add.u32 %r7, %r7, 1;
longs:
  cvt.u64.u32 %rd4, %r2;
  mul.lo.u64 %rd4, %rd4, 0x100000000;
  setp.lt.u64 %p2, %rd4, 0x1000000000;
  @%p2 bra done;
  add.u32 %r7, %r7, 2;
done:
  st.global.u32 [%rd3], %r7;
  ret;
}
)");
  for (std::uint32_t block = 0; block < kTurnBlocks; ++block) {
    EXPECT_EQ(outcome.numbers[std::size_t{block} * kTurnThreads * kTurnRounds],
              (block >= 15 ? 1u : 0u) + (block >= 16 ? 2u : 0u));
  }
}

}  // namespace
}  // namespace tilescope::emulator::test
