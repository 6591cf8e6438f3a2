// Divergence, barriers, warp-level synchronisation, limits and refusals at load.
#include <algorithm>
#include <thread>
#include <tilescope/error.hpp>

#include "emulator/harness.hpp"

namespace tilescope::emulator::test {
namespace {

using ::testing::HasSubstr;

/// A kernel `k(out)` with registers; %r1 is tid.x, %rd1 out, %rd2 the thread's own word of it.
std::string kernel(const std::string& body, const std::string& before = "") {
  return std::string(kHeader) + before +
         ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<30>; .reg .b64 %rd<20>; .reg .pred "
         "%p<10>;\n"
         "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.u64 %rd2, "
         "%rd1, %rd3;\n" +
         body + "\n}\n";
}

struct Result {
  LaunchSummary summary;
  std::vector<std::uint32_t> out;
};
Result run(const std::string& text, std::uint32_t threads, LaunchOptions options = {},
           Dim3 grid = {1}) {
  Bench bench(text);
  const auto out = bench.upload(std::vector<std::uint32_t>(1024, 7777), "out");
  Result result;
  result.summary = bench.run("k", grid, {threads}, options, out);
  result.out = bench.download<std::uint32_t>(out, 1024);
  return result;
}

TEST(Divergence, NestedBranchesMeetAgain) {
  // activemask shows which lanes are together: quarters inside, all again at the end.
  const Result r = run(
      kernel("and.b32 %r2, %r1, 1; and.b32 %r3, %r1, 2; setp.eq.u32 %p1, %r2, 0; setp.eq.u32 %p2, "
             "%r3, 0;"
             "@%p1 bra EVEN; @%p2 bra A; activemask.b32 %r4; bra MEET1; A: activemask.b32 %r4;"
             "MEET1: activemask.b32 %r5; bra MEET; EVEN: activemask.b32 %r4; activemask.b32 %r5;"
             "MEET: activemask.b32 %r6; popc.b32 %r4, %r4; popc.b32 %r5, %r5; popc.b32 %r6, %r6;"
             "mad.lo.u32 %r7, %r4, 100, %r5; mad.lo.u32 %r7, %r7, 100, %r6; st.global.u32 [%rd2], "
             "%r7; ret;"),
      32);
  for (std::uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(r.out[i], i % 2 == 0 ? 161632u : 81632u);
  }
}

TEST(Divergence, LoopsOfDifferentLengthMeetBehindTheLoop) {
  const Result r = run(
      kernel("mov.u32 %r2, 0; LOOP: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r1; @%p1 bra LOOP;"
             "activemask.b32 %r3; popc.b32 %r3, %r3; mad.lo.u32 %r4, %r2, 100, %r3; st.global.u32 "
             "[%rd2], %r4; ret;"),
      64);
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(r.out[i], std::max(i, 1u) * 100 + 32);
}

TEST(Divergence, LanesThatLeaveAreNotWaitedFor) {
  const Result r = run(
      kernel("setp.lt.u32 %p1, %r1, 20; @%p1 bra ON; exit; ON: setp.eq.u32 %p2, %r1, 3; @%p2 ret;"
             "activemask.b32 %r3; bar.sync 0; st.global.u32 [%rd2], %r3; ret;"),
      64);
  EXPECT_TRUE(r.summary.complete());
  for (std::uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(r.out[i], i < 20 && i != 3 ? 0x000ffff7u : 7777u);
}

TEST(Divergence, AnIndexedBranch) {
  const Result r =
      run(kernel("and.b32 %r2, %r1, 3; T: .branchtargets L0, L1, L2, L0; brx.idx %r2, T;"
                 "L0: mov.u32 %r3, 5; bra END; L1: mov.u32 %r3, 6; bra END; L2: mov.u32 %r3, 7;"
                 "END: activemask.b32 %r4; popc.b32 %r4, %r4; mad.lo.u32 %r3, %r3, 100, %r4; "
                 "st.global.u32 [%rd2], %r3; ret;"),
          32);
  const std::uint32_t want[] = {532, 632, 732, 532};
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.out[i], want[i % 4]);
}

TEST(Divergence, GuardedInstructionsTouchOnlyTheirLanes) {
  const Result r =
      run(kernel("mov.u32 %r2, 1; setp.lt.u32 %p1, %r1, 10; @%p1 add.u32 %r2, %r2, 5; @!%p1 "
                 "mul.lo.u32 %r2, %r1, 2;"
                 "@%p1 st.global.u32 [%rd2], %r2; @!%p1 st.global.u32 [%rd2], %r2; ret;"),
          40);
  for (std::uint32_t i = 0; i < 40; ++i) EXPECT_EQ(r.out[i], i < 10 ? 6u : i * 2);
}

TEST(Divergence, ALaneMayWaitForAnotherOfItsWarp) {
  // Lane 0 spins until lane 5, on the other side of the branch, has stored.
  const Result r = run(
      kernel("setp.eq.u32 %p1, %r1, 0; @%p1 bra WAIT; setp.eq.u32 %p2, %r1, 5; @%p2 "
             "st.volatile.global.u32 [%rd1+400], 1; bra END;"
             "WAIT: ld.volatile.global.u32 %r2, [%rd1+400]; setp.ne.u32 %p3, %r2, 1; @%p3 bra WAIT;"
             "END: st.global.u32 [%rd2], %r1; ret;"),
      32);
  EXPECT_TRUE(r.summary.complete());
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.out[i], i);
  // The winner of a lock waits behind the loop for lanes that spin until it releases the lock
  // there.
  const Result lock = run(kernel("SPIN: atom.global.cas.b32 %r2, [%rd1+400], 7777, 1; setp.ne.u32 "
                                 "%p1, %r2, 7777; @%p1 bra SPIN;"
                                 "ld.volatile.global.u32 %r3, [%rd1+404]; add.u32 %r3, %r3, 1; "
                                 "st.volatile.global.u32 [%rd1+404], %r3;"
                                 "membar.gl; atom.global.exch.b32 %r4, [%rd1+400], 7777; ret;"),
                          32);
  EXPECT_TRUE(lock.summary.complete());
  EXPECT_EQ(lock.out[101], 7777u + 32);
}

TEST(Divergence, ALaneThatFencesAndLoadsWeaklyLetsTheOthersGoOn) {
  // Lane 0 waits in a loop for what lane 1 stores behind the point where both meet again.
  const Result r = run(
      kernel("setp.ne.u32 %p1, %r1, 0; @%p1 bra MEET;"
             "WAIT: membar.gl; ld.global.u32 %r2, [%rd1+400]; setp.ne.u32 %p2, %r2, 1; @%p2 bra "
             "WAIT; st.global.u32 [%rd1+404], 5;"
             "MEET: membar.gl; setp.eq.u32 %p3, %r1, 1; @%p3 st.global.u32 [%rd1+400], 1; ret;"),
      32, {.max_instructions = 1'000'000});
  EXPECT_TRUE(r.summary.complete()) << r.summary.message;
  EXPECT_EQ(r.out[101], 5u);
}

// --- barriers
// -----------------------------------------------------------------------------------------

TEST(Barrier, NamedBarriersWithCounts) {
  // Warps 0 and 1 pass a value through barrier 3, warps 2 and 3 through barrier 4; a producer only
  // arrives.
  const Result r = run(
      kernel("shr.u32 %r2, %r1, 5; and.b32 %r3, %r2, 1; shr.u32 %r4, %r2, 1; add.u32 %r5, %r4, 3;"
             "mov.u32 %r6, cells; shl.b32 %r7, %r4, 2; add.u32 %r6, %r6, %r7; setp.eq.u32 %p1, "
             "%r3, 1; @%p1 bra MAKE;"
             "bar.sync %r5, 64; ld.shared.u32 %r8, [%r6]; st.global.u32 [%rd2], %r8; ret;"
             "MAKE: add.u32 %r9, %r4, 50; st.shared.u32 [%r6], %r9; bar.arrive %r5, 64; "
             "st.global.u32 [%rd2], 1; ret;",
             ".shared .u32 cells[2];\n"),
      128);
  EXPECT_TRUE(r.summary.complete()) << r.summary.message;
  for (std::uint32_t i = 0; i < 128; ++i) EXPECT_EQ(r.out[i], i / 32 % 2 == 1 ? 1u : 50 + i / 64);
}

TEST(Barrier, Reductions) {
  const Result r = run(
      kernel("setp.lt.u32 %p1, %r1, 50; barrier.cta.red.popc.aligned.u32 %r2, 0, %p1; "
             "bar.red.and.pred %p2, 1, %p1;"
             "bar.red.or.pred %p3, 2, !%p1; selp.u32 %r3, 1000, 0, %p2; selp.u32 %r4, 2000, 0, %p3;"
             "add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4; st.global.u32 [%rd2], %r2; ret;"),
      70);
  for (std::uint32_t i = 0; i < 70; ++i) EXPECT_EQ(r.out[i], 2050u);
}

TEST(Barrier, ReachedInPieces) {
  // Both sides of a branch have a barrier of their own: the block meets across them.
  const Result r = run(
      kernel("setp.lt.u32 %p1, %r1, 16; @%p1 bra A; st.shared.u32 [cell], 4; bar.sync 0; bra END;"
             "A: bar.sync 0; END: ld.shared.u32 %r2, [cell]; st.global.u32 [%rd2], %r2; ret;",
             ".shared .u32 cell;\n"),
      64);
  EXPECT_TRUE(r.summary.complete());
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(r.out[i], 4u);
}

TEST(Barrier, ThatSomeNeverReachEndsTheBlock) {
  const std::string text = kernel(
      "st.global.u32 [%rd2], 1; setp.ge.u32 %p1, %r1, 40; @%p1 bra OVER; bar.sync 0;"
      "OVER: bar.sync 1; st.global.u32 [%rd2], 2; ret;");
  const Result r = run(text, 64, {}, {3});
  EXPECT_EQ(r.summary.end, LaunchEnd::complete);
  EXPECT_EQ(r.summary.deadlocked_blocks, 3u);
  EXPECT_FALSE(r.summary.complete());
  EXPECT_THAT(r.summary.message,
              HasSubstr("block (0,0,0) cannot continue: warp 0 lanes 0xffffffff wait at line"));
  EXPECT_THAT(r.summary.message, HasSubstr("(barrier 0)"));
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(r.out[i], 1u);
}

TEST(Barrier, BadOperandsAreFaults) {
  const Result r = run(
      kernel("bar.sync 0, 33; mov.u32 %r2, 16; bar.sync %r2; st.global.u32 [%rd2], 1; ret;"), 64);
  ASSERT_EQ(r.summary.faults.size(), 2u);
  EXPECT_EQ(r.summary.faults[0].kind, FaultKind::bad_barrier);
  EXPECT_EQ(r.out[0], 1u);
}

// --- warp-level
// -----------------------------------------------------------------------------------------

TEST(WarpLevel, Shuffles) {
  const Result r = run(
      kernel("mul.lo.u32 %r2, %r1, 10; shfl.sync.up.b32 %r3|%p1, %r2, 3, 0, -1; shfl.sync.down.b32 "
             "%r4|%p2, %r2, 2, 0x181f, -1;"
             "shfl.sync.bfly.b32 %r5, %r2, 5, 31, -1; shfl.sync.idx.b32 %r6, %r2, 9, 0x1c1f, -1;"
             "selp.u32 %r7, 1, 0, %p1; selp.u32 %r8, 2, 0, %p2; add.u32 %r7, %r7, %r8;"
             "mul.lo.u32 %r9, %r1, 16; add.u64 %rd2, %rd2, 0; mul.wide.u32 %rd4, %r1, 16; add.u64 "
             "%rd4, %rd4, %rd1;"
             "shl.b32 %r7, %r7, 12; add.u32 %r3, %r3, %r7; st.global.v4.u32 [%rd4], {%r3, %r4, "
             "%r5, %r6}; ret;"),
      32);
  for (std::uint32_t i = 0; i < 32; ++i) {
    const std::uint32_t valid_up = i >= 3, valid_down = i % 8 + 2 < 8;
    EXPECT_EQ(r.out[i * 4], (valid_up ? i - 3 : i) * 10 + ((valid_up + 2 * valid_down) << 12)) << i;
    EXPECT_EQ(r.out[i * 4 + 1], (valid_down ? i + 2 : i) * 10);
    EXPECT_EQ(r.out[i * 4 + 2], (i ^ 5) * 10);
    EXPECT_EQ(r.out[i * 4 + 3], (i / 4 * 4 + 1) * 10);
  }
}

TEST(WarpLevel, DivergedLanesMeetAtSync) {
  // Both halves run the shuffle at places of their own and still exchange.
  const Result r = run(kernel("setp.lt.u32 %p1, %r1, 16; add.u32 %r2, %r1, 100; @%p1 bra LOW;"
                              "shfl.sync.bfly.b32 %r3, %r2, 16, 31, -1; bra END; LOW: add.u32 %r2, "
                              "%r2, 1000; shfl.sync.bfly.b32 %r3, %r2, 16, 31, -1;"
                              "END: st.global.u32 [%rd2], %r3; ret;"),
                       32);
  EXPECT_EQ(r.summary.fault_count, 0u);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.out[i], (i ^ 16) + 100 + (i >= 16 ? 1000 : 0));
}

TEST(WarpLevel, GroupsOfOneInstruction) {
  // Every quad names itself.
  const Result r = run(
      kernel(
          "and.b32 %r2, %r1, 28; shl.b32 %r3, 15, %r2; vote.sync.ballot.b32 %r4, 1, %r3;"
          "redux.sync.add.s32 %r5, %r1, %r3; elect.sync %r6|%p1, %r3; selp.u32 %r7, 10000, 0, %p1;"
          "setp.eq.u32 %p2, %r4, %r3; selp.u32 %r8, 20000, 0, %p2; add.u32 %r5, %r5, %r7; add.u32 "
          "%r5, %r5, %r8; st.global.u32 [%rd2], %r5; ret;"),
      32);
  for (std::uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(r.out[i], i / 4 * 16 + 6 + (i % 4 == 0 ? 10000 : 0) + 20000u) << i;
  }
}

TEST(WarpLevel, AbsentLanesAreReportedAndDoneWithout) {
  const Result r = run(kernel("setp.lt.u32 %p1, %r1, 16; mov.u32 %r3, 5; @!%p1 bra END; "
                              "shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;"
                              "END: bar.sync 0; st.global.u32 [%rd2], %r3; ret;"),
                       32);
  EXPECT_TRUE(r.summary.complete());
  ASSERT_EQ(r.summary.faults.size(), 1u);
  EXPECT_EQ(r.summary.faults[0].kind, FaultKind::absent_lanes);
  EXPECT_THAT(r.summary.faults[0].text, HasSubstr("the mask 0xffffffff names lanes 0xffff0000"));
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.out[i], i < 16 ? i ^ 1 : 5u);
  // Lanes that have left are no fault; a lane outside its own mask is.
  EXPECT_EQ(run(kernel("setp.ge.u32 %p1, %r1, 16; @%p1 exit; bar.warp.sync -1; st.global.u32 "
                       "[%rd2], 1; ret;"),
                32)
                .summary.fault_count,
            0u);
  const Result stranger = run(kernel("bar.warp.sync 0xffff; ret;"), 32);
  ASSERT_EQ(stranger.summary.faults.size(), 1u);
  EXPECT_EQ(stranger.summary.faults[0].kind, FaultKind::not_a_member);
}

TEST(WarpLevel, NamedLanesThatWaitAtAJoinMayLeave) {
  // Lanes 16 to 31 wait at END for the others, which vote; they leave by the next branch.
  const char* const text =
      "setp.lt.u32 %p1, %r1, 16; mov.u32 %r3, 5; @!%p1 bra END; setp.ne.u32 %p2, %r1, 3;"
      "vote.sync.ballot.b32 %r3, %p2, -1; END: st.global.u32 [%rd2], %r3;";
  const Result r = run(kernel(std::string(text) + "ret;"), 32);
  EXPECT_TRUE(r.summary.complete());
  EXPECT_EQ(r.summary.fault_count, 0u);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.out[i], i < 16 ? 0xfff7u : 5u);
  // They come to another instruction with the same mask: that is not where the others wait.
  const Result elsewhere = run(kernel(std::string(text) + "bar.warp.sync -1; ret;"), 32);
  ASSERT_EQ(elsewhere.summary.faults.size(), 1u);
  EXPECT_EQ(elsewhere.summary.faults[0].kind, FaultKind::absent_lanes);
  EXPECT_THAT(elsewhere.summary.faults[0].text, HasSubstr("names lanes 0xffff0000"));
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(elsewhere.out[i], i < 16 ? 0xfff7u : 5u);
}

TEST(WarpLevel, MatchAll) {
  const Result r =
      run(kernel("mov.b64 %rd5, 12; match.all.sync.b64 %r2|%p1, %rd5, -1; match.all.sync.b32 "
                 "%r3|%p2, %r1, -1;"
                 "selp.u32 %r4, 1, 0, %p1; selp.u32 %r5, 2, 0, %p2; add.u32 %r4, %r4, %r5; add.u32 "
                 "%r4, %r4, %r2; add.u32 %r4, %r4, %r3; st.global.u32 [%rd2], %r4; ret;"),
          32);
  EXPECT_EQ(r.out[9], 0u);  // 0xffffffff + 0 + 1
}

// --- special registers
// ------------------------------------------------------------------------------------

TEST(Special, ThreadAndBlockIndices) {
  Bench bench(std::string(kHeader) +
              ".visible .entry k(.param .u64 out) {.reg .b32 %r<40>; .reg .b64 %rd<5>;"
              "ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 "
              "%r3, %ctaid.z; mov.u32 %r4, %nctaid.x; mov.u32 %r5, %nctaid.y;"
              "mad.lo.u32 %r6, %r3, %r5, %r2; mad.lo.u32 %r6, %r6, %r4, %r1; mov.u32 %r7, %tid.x; "
              "mov.u32 %r8, %tid.y; mov.u32 %r9, %tid.z;"
              "mov.u32 %r10, %ntid.x; mov.u32 %r11, %ntid.y; mov.u32 %r12, %ntid.z; mad.lo.u32 "
              "%r13, %r9, %r11, %r8; mad.lo.u32 %r13, %r13, %r10, %r7;"
              "mul.lo.u32 %r14, %r10, %r11; mul.lo.u32 %r14, %r14, %r12; mad.lo.u32 %r15, %r6, "
              "%r14, %r13; mul.wide.u32 %rd2, %r15, 4; add.u64 %rd2, %rd2, %rd1;"
              "mov.u32 %r16, %warpid; mov.u32 %r17, %laneid; mad.lo.u32 %r18, %r16, 32, %r17; "
              "mov.u32 %r19, %nwarpid; mad.lo.u32 %r18, %r19, 1000, %r18;"
              "mov.u32 %r20, %lanemask_lt; popc.b32 %r21, %r20; mad.lo.u32 %r18, %r21, 100000, "
              "%r18; st.global.u32 [%rd2], %r18; ret; }");
  const auto out = bench.machine.allocate(4 * 3 * 2 * 70 * 4, "out");
  const auto summary = bench.run("k", {3, 4, 2}, {7, 5, 2}, {}, out);
  EXPECT_EQ(summary.fault_count, 0u);
  const auto got = bench.download<std::uint32_t>(out, 24 * 70);
  for (std::uint32_t i = 0; i < 24 * 70; ++i)
    EXPECT_EQ(got[i], i % 70 + 3000 + i % 70 % 32 * 100000) << i;
}

// --- limits
// --------------------------------------------------------------------------------------------

const char* const kEndless = "LOOP: add.u32 %r2, %r2, 1; bra LOOP;";

TEST(Limits, TheBudgetEndsAnEndlessLoop) {
  const Result r = run(kernel(kEndless), 64, {.max_instructions = 500'000}, {1000});
  EXPECT_EQ(r.summary.end, LaunchEnd::budget_spent);
  EXPECT_THAT(r.summary.message, HasSubstr("the limit is 500000"));
  EXPECT_GE(r.summary.warp_instructions, 500'000u);
  EXPECT_LT(r.summary.warp_instructions, 5'000'000u);
}

TEST(Limits, ALaunchStopsCloseToItsBudget) {
  for (const unsigned threads : {1U, 4U}) {
    for (const std::uint64_t most : {100U, 10'000U, 300'000U}) {
      for (const std::uint32_t block : {32U, 1024U}) {
        const Result r =
            run(kernel(kEndless), block, {.threads = threads, .max_instructions = most}, {1000});
        EXPECT_EQ(r.summary.end, LaunchEnd::budget_spent);
        EXPECT_GE(r.summary.warp_instructions, most);
        EXPECT_LE(r.summary.warp_instructions, most + most / 10 + 20);
      }
    }
  }
}

TEST(Limits, AKernelMayUseItsWholeBudget) {
  const LaunchOptions options{.threads = 1};
  const Result free = run(kernel("add.u32 %r2, %r2, 1;"), 64, options, {5});
  const auto with = [&](std::uint64_t most) {
    return run(kernel("add.u32 %r2, %r2, 1;"), 64, {.threads = 1, .max_instructions = most}, {5});
  };
  EXPECT_EQ(with(free.summary.warp_instructions).summary.end, LaunchEnd::complete);
  EXPECT_EQ(with(free.summary.warp_instructions - 1).summary.end, LaunchEnd::budget_spent);
}

TEST(Limits, CancellingEndsAnEndlessLoop) {
  std::atomic<bool> cancel{false};
  std::jthread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    cancel = true;
  });
  const Result r = run(kernel(kEndless), 64, {.cancel = &cancel});
  EXPECT_EQ(r.summary.end, LaunchEnd::cancelled);
}

TEST(Limits, TheLargestGridStartsAndStops) {
  const Result r =
      run(kernel("ret;"), 1, {.max_instructions = 100'000}, {2147483647u, 65535, 65535});
  EXPECT_EQ(r.summary.end, LaunchEnd::budget_spent);
  EXPECT_GT(r.summary.blocks_run, 10u);
}

void expect_refused(Dim3 grid, Dim3 block, std::uint32_t shared, const std::string& text,
                    const std::string& bounds = "") {
  Bench bench(std::string(kHeader) + ".visible .entry k(.param .u64 out) " + bounds + " { ret; }");
  try {
    bench.machine.launch(*bench.module, "k", grid, block, shared, pack(std::uint64_t{0}), {});
    ADD_FAILURE() << "not refused: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), HasSubstr(text));
  }
}

TEST(Limits, IllegalLaunches) {
  expect_refused({0}, {32}, 0, "has no thread");
  expect_refused({1}, {1, 0}, 0, "has no thread");
  expect_refused({1, 65536}, {32}, 0, "a grid of 1 x 65536 x 1");
  expect_refused({1}, {64, 64}, 0, "4096 threads exceeds the limit of 1024");
  expect_refused({1}, {1, 1, 65}, 0, "exceeds the limit");
  expect_refused({1}, {32}, 300'000, "shared memory");
  expect_refused({1}, {256}, 0, "launch bounds", ".maxntid 128");
  expect_refused({1}, {64}, 0, "requires blocks of 128", ".reqntid 128");
  Bench bench(std::string(kHeader) + ".visible .entry k(.param .u64 out) { ret; }");
  EXPECT_THROW(bench.machine.launch(*bench.module, "k", {1}, {1}, 0, {}, {}), Error);
  EXPECT_THROW(bench.run("k", {100'000}, {1024}, {.cooperative = true}, std::uint64_t{0}), Error);
  EXPECT_THROW(bench.run("missing", {1}, {1}, {}), Error);
}

// --- load
// ----------------------------------------------------------------------------------------------

void expect_unsupported(const std::string& instruction, const std::string& text) {
  Bench bench(std::string(kHeader) +
              ".visible .entry other() { ret; }\n.visible .entry k() {\n"
              ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .pred %p<3>;\n" +
              instruction + "\nret;\n}\n");
  EXPECT_TRUE(bench.run("other", {1}, {1}, {}).complete());  // other kernels are not affected
  try {
    bench.module->program("k");
    ADD_FAILURE() << "not refused: " << instruction;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_THAT(error.what(), HasSubstr(text));
    EXPECT_THAT(error.what(), HasSubstr("line 7 of the PTX"));
  }
}

TEST(Load, WhatIsNotImplementedIsRefusedByName) {
  expect_unsupported("multimem.red.relaxed.gpu.global.add.f32 [%rd1], %f1;", "multimem.red");
  expect_unsupported("nonsense.u32 %r1, %r2;", "nonsense");
}

TEST(Load, AllOfThemAreListed) {
  Bench bench(std::string(kHeader) +
              ".func helper() { .reg .b32 %r; .reg .b64 %rd;\n"
              "multimem.red.relaxed.sys.global.add.u32 [%rd], %r; ret; }\n"
              ".visible .entry k() { .reg .b32 %r; nonsense.u32 %r, %r; call helper; ret; }\n");
  try {
    bench.module->program("k");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("nonsense.u32"));
    EXPECT_THAT(error.what(), HasSubstr("multimem.red"));
  }
}

TEST(Load, FunctionsWithoutABodyAreRefused) {
  Bench bench(std::string(kHeader) +
              ".extern .func missing();\n.visible .entry k() { call missing; ret; }\n");
  try {
    bench.module->program("k");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("'missing' is declared but not defined"));
  }
}

}  // namespace
}  // namespace tilescope::emulator::test
