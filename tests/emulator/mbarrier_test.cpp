// mbarrier: phases, tokens, parities, transactions; the system's part of shared memory; clocks.
#include <tilescope/error.hpp>

#include "emulator/harness.hpp"

namespace tilescope::emulator::test {
namespace {

std::vector<std::uint32_t> run_threads(const std::string& body, std::uint32_t threads,
                                       std::size_t results) {
  Bench bench(std::string(kHeader) +
              ".shared .align 8 .b64 bar;\n.shared .b32 cells[64];\n"
              ".visible .entry k(.param .u64 out) {\n.reg .pred %p<8>; .reg .b32 %r<16>; "
              ".reg .b64 %rd<16>;\nld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x;\n"
              "mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd2, %rd1;\n" +
              body + "\nret; }\n");
  const auto out = bench.machine.allocate(results * 4, "out");
  const LaunchSummary summary =
      bench.run("k", {1}, {threads}, {.max_instructions = 1'000'000}, out);
  EXPECT_TRUE(summary.complete()) << summary.message;
  EXPECT_EQ(summary.fault_count, 0u);
  return bench.download<std::uint32_t>(out, results);
}

constexpr char kInit[] =
    "setp.ne.u32 %p1, %r1, 0; @%p1 bra READY; mbarrier.init.shared::cta.b64 [bar], 64;\n"
    "READY: bar.sync 0;\n";

TEST(Mbarrier, ThreadsOfTwoWarpsMeetInEveryPhase) {
  // Each thread writes its cell, waits for all, reads the cell of the other warp; three rounds.
  const auto got = run_threads(std::string(kInit) + R"(
mov.u32 %r2, 0; mov.u32 %r9, 0; mov.u32 %r3, cells; mad.lo.u32 %r4, %r1, 4, %r3;
xor.b32 %r5, %r1, 32; mad.lo.u32 %r6, %r5, 4, %r3;
ROUND: add.u32 %r7, %r1, %r2; st.shared.u32 [%r4], %r7;
mbarrier.arrive.shared::cta.b64 %rd3, [bar];
WAIT1: mbarrier.try_wait.shared::cta.b64 %p2, [bar], %rd3; @!%p2 bra WAIT1;
ld.shared.u32 %r8, [%r6]; add.u32 %r9, %r9, %r8;
mbarrier.arrive.shared::cta.b64 _, [bar];
WAIT2: mbarrier.test_wait.parity.shared::cta.b64 %p2, [bar], 1; @!%p2 bra WAIT2;
add.u32 %r2, %r2, 1; setp.lt.u32 %p3, %r2, 3; @%p3 bra ROUND;
st.global.u32 [%rd2], %r9;)",
                               64, 64);
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(got[i], 3 * (i ^ 32) + 3) << i;
}

TEST(Mbarrier, CountsDropsAndTransactions) {
  const auto got = run_threads(R"(
mbarrier.init.shared.b64 [bar], 3;
mbarrier.arrive.noComplete.shared.b64 %rd3, [bar], 2;
mbarrier.pending_count.b64 %r2, %rd3; st.global.u32 [%rd1], %r2;
mbarrier.arrive_drop.shared.b64 %rd4, [bar];
mbarrier.pending_count.b64 %r2, %rd4; st.global.u32 [%rd1+4], %r2;
mbarrier.test_wait.shared.b64 %p1, [bar], %rd4; selp.u32 %r3, 1, 0, %p1; st.global.u32 [%rd1+8], %r3;
mbarrier.arrive.expect_tx.shared::cta.b64 %rd5, [bar], 256;
mbarrier.pending_count.b64 %r2, %rd5; st.global.u32 [%rd1+12], %r2;
mbarrier.arrive.shared::cta.b64 %rd6, [bar];
mbarrier.test_wait.shared.b64 %p1, [bar], %rd5; selp.u32 %r3, 1, 0, %p1; st.global.u32 [%rd1+16], %r3;
mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 256;
mbarrier.test_wait.shared.b64 %p1, [bar], %rd5; selp.u32 %r3, 1, 0, %p1; st.global.u32 [%rd1+20], %r3;
mbarrier.inval.shared.b64 [bar];)",
                               1, 6);
  // Three arrivals end the first phase; one has dropped out, so the second waits for two, and for
  // 256 bytes.
  EXPECT_EQ(got, (std::vector<std::uint32_t>{3, 1, 1, 2, 0, 1}));
}

TEST(Mbarrier, AWaitThatNobodyEndsIsFound) {
  Bench bench(std::string(kHeader) +
              ".shared .align 8 .b64 bar;\n.visible .entry k() {\n.reg .pred %p; .reg .b64 %rd;\n"
              "mbarrier.init.shared.b64 [bar], 99; mbarrier.arrive.shared.b64 %rd, [bar];\n"
              "W: mbarrier.try_wait.shared.b64 %p, [bar], %rd; @!%p bra W; ret; }\n");
  const LaunchSummary summary = bench.run("k", {1}, {64}, {.max_instructions = 100'000});
  EXPECT_EQ(summary.end, LaunchEnd::complete);
  EXPECT_EQ(summary.deadlocked_blocks, 1u);
}

TEST(ReservedShared, LiesBehindWhatIsDeclared) {
  const auto got = run_threads(R"(
mov.u32 %r2, %reserved_smem_offset_begin; mov.u32 %r3, %reserved_smem_offset_1;
st.shared.u32 [cells+252], %r1;
mov.u32 %r4, %reserved_smem_offset_end; mov.u32 %r5, %reserved_smem_offset_cap;
ld.shared.u32 %r6, [%r3]; atom.shared.add.u32 %r7, [%r3], 5; ld.shared.u32 %r8, [%r3];
st.global.u32 [%rd1], %r2; sub.u32 %r9, %r4, %r2; st.global.u32 [%rd1+4], %r9;
st.global.u32 [%rd1+8], %r5; st.global.u32 [%rd1+12], %r6; st.global.u32 [%rd1+16], %r8;)",
                               1, 5);
  EXPECT_GE(got[0], 256u);
  EXPECT_EQ(got[1], got[2]);
  EXPECT_EQ(got[3], 0u);
  EXPECT_EQ(got[4], 5u);
}

TEST(Clock, CountsInstructionsAlsoWithinStraightLines) {
  const auto got = run_threads(R"(
mov.u32 %r2, %clock; add.u32 %r3, %r2, 1; add.u32 %r3, %r3, 1; mov.u32 %r4, %clock;
mov.u32 %r5, 0; L: add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 100; @%p1 bra L;
mov.u32 %r6, %clock; sub.u32 %r4, %r4, %r2; sub.u32 %r6, %r6, %r2;
st.global.u32 [%rd1], %r4; st.global.u32 [%rd1+4], %r6;)",
                               1, 2);
  EXPECT_EQ(got[0], 3u);
  EXPECT_EQ(got[1], 3u + 1 + 300 + 1);
}

}  // namespace
}  // namespace tilescope::emulator::test
