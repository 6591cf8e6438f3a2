// Threads that wait for ever are found, however they wait; threads that only wait long are let be.
#include <atomic>
#include <chrono>
#include <thread>

#include "emulator/harness.hpp"

namespace tilescope::emulator::test {
namespace {

std::string waiting(const std::string& text) {
  return std::string(kHeader) +
         ".visible .entry k(.param .u64 flags) {\n.reg .pred %p<9>; .reg .b32 %r<20>; "
         ".reg .b64 %rd<9>; .shared .align 4 .b8 cell[64];\n"
         "ld.param.u64 %rd1, [flags]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n" +
         text + "\n}\n";
}

struct Waited {
  LaunchSummary summary;
  std::vector<std::uint32_t> flags;
};

/// Blocks of 64 threads and 16 flags, all 0.
Waited wait(const std::string& text, unsigned blocks, unsigned threads) {
  Bench bench(waiting(text));
  const auto flags = bench.upload(std::vector<std::uint32_t>(16, 0), "flags");
  Waited result;
  result.summary =
      bench.run("k", {blocks}, {64}, {.threads = threads, .max_instructions = 200'000'000}, flags);
  result.flags = bench.download<std::uint32_t>(flags, 16);
  return result;
}

void expect_stall(const std::string& text, unsigned blocks, std::uint64_t stuck) {
  for (const unsigned threads : {1u, 2u, 3u}) {
    const Waited waited = wait(text, blocks, threads);
    EXPECT_EQ(waited.summary.end, LaunchEnd::complete) << waited.summary.message;
    EXPECT_EQ(waited.summary.deadlocked_blocks, stuck) << threads;
    EXPECT_NE(waited.summary.message.find("wait at"), std::string::npos) << waited.summary.message;
  }
}

void expect_end(const std::string& text, unsigned blocks, std::uint32_t flag) {
  for (const unsigned threads : {1u, 2u, 3u}) {
    const Waited waited = wait(text, blocks, threads);
    EXPECT_TRUE(waited.summary.complete()) << waited.summary.message;
    EXPECT_EQ(waited.flags[1], flag) << threads;
  }
}

TEST(Stall, AFlagThatNobodySets) {
  expect_stall("L: ld.volatile.global.u32 %r3, [%rd1]; setp.eq.u32 %p1, %r3, 0; @%p1 bra L; ret;",
               5, 5);
}

TEST(Stall, ALockThatIsNeverReleased) {
  expect_stall(R"(
L: atom.global.cas.b32 %r3, [%rd1], 0, 1; setp.ne.u32 %p1, %r3, 0; @%p1 bra L;
st.global.u32 [%rd1+4], 1; ret;)",
               3, 3);
}

TEST(Stall, ACounterOfAttemptsDoesNotHideIt) {
  expect_stall(R"(
mov.u32 %r4, 0;
L: ld.acquire.gpu.global.u32 %r3, [%rd1]; add.u32 %r4, %r4, 1; setp.eq.u32 %p1, %r3, 0;
@%p1 bra L; st.global.u32 [%rd1+4], %r4; ret;)",
               2, 2);
}

TEST(Stall, OneLaneWaitsAndTheOthersWaitForItAtABarrier) {
  expect_stall(R"(
setp.ne.u32 %p1, %r1, 5; @%p1 bra B;
L: ld.volatile.shared.u32 %r3, [cell]; setp.ne.u32 %p2, %r3, 7; @%p2 bra L;
B: bar.sync 0; ret;)",
               2, 2);
}

TEST(Stall, SleepersAndFences) {
  expect_stall(R"(
L: nanosleep.u32 20; membar.gl; ld.global.u32 %r3, [%rd1]; setp.eq.u32 %p1, %r3, 0; @%p1 bra L;
ret;)",
               2, 2);
}

TEST(Stall, BlocksThatEndHelpNobody) {
  // Block 0 waits for a flag of its own; the others end.
  expect_stall(R"(
setp.ne.u32 %p1, %r2, 0; @%p1 bra END;
L: atom.global.add.u32 %r3, [%rd1], 0; setp.eq.u32 %p2, %r3, 0; @%p2 bra L;
END: ret;)",
               6, 1);
}

TEST(Stall, AFlagThatIsSetLate) {
  // Block 1 works long, in a loop without stores, before it sets the flag.
  expect_end(R"(
setp.eq.u32 %p1, %r2, 1; @%p1 bra SET;
L: ld.acquire.gpu.global.u32 %r3, [%rd1]; setp.eq.u32 %p2, %r3, 0; @%p2 bra L;
red.global.add.u32 [%rd1+4], 1; ret;
SET: mov.u32 %r4, 0;
M: add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, 300000; @%p3 bra M;
st.release.gpu.global.u32 [%rd1], %r4; red.global.add.u32 [%rd1+4], 1; ret;)",
             4, 4 * 64);
}

TEST(Stall, AWaitThatGivesUpAfterManyAttempts) {
  expect_end(R"(
mov.u32 %r4, 0;
L: ld.volatile.global.u32 %r3, [%rd1]; add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 3000;
setp.eq.and.u32 %p1, %r3, 0, %p2; @%p1 bra L; red.global.add.u32 [%rd1+4], 1; ret;)",
             3, 3 * 64);
}

TEST(Stall, AWaitThatGivesUpByTheClock) {
  expect_end(R"(
mov.u64 %rd2, %clock64;
L: ld.volatile.global.u32 %r3, [%rd1]; mov.u64 %rd3, %clock64; sub.u64 %rd3, %rd3, %rd2;
setp.lt.u64 %p2, %rd3, 20000; setp.eq.and.u32 %p1, %r3, 0, %p2; @%p1 bra L;
red.global.add.u32 [%rd1+4], 1; ret;)",
             2, 2 * 64);
}

// As the waits of libcu++ do: many looks without sleep, then sleeps by the time that has passed.
constexpr const char* kSleepByTheClock = R"(
L: setp.lt.s32 %p3, %r4, 16; @%p3 bra COUNT;
mov.u64 %rd3, %globaltimer; sub.s64 %rd3, %rd3, %rd2; setp.lt.s64 %p4, %rd3, 4000000;
@%p4 bra SHORT; nanosleep.u32 1000; bra NEXT;
SHORT: setp.lt.s64 %p5, %rd3, 40000; @%p5 bra NEXT;
shr.u64 %rd4, %rd3, 2; cvt.u32.u64 %r5, %rd4; nanosleep.u32 %r5; bra NEXT;
COUNT: add.s32 %r4, %r4, 1;
NEXT: )";

TEST(Stall, SleepsThatGrowByTheClock) {
  expect_stall(std::string("mov.u32 %r4, 0; mov.u64 %rd2, %globaltimer;") + kSleepByTheClock +
                   "ld.acquire.gpu.global.u32 %r3, [%rd1]; setp.eq.u32 %p1, %r3, 0; @%p1 bra L; "
                   "ret;",
               2, 2);
}

TEST(Stall, SleepsThatGrowByTheClockUntilTheFlagIsSet) {
  expect_end(std::string("mov.u32 %r4, 0; mov.u64 %rd2, %globaltimer;") +
                 "setp.eq.u32 %p2, %r2, 1; @%p2 bra SET;" + kSleepByTheClock + R"(
ld.acquire.gpu.global.u32 %r3, [%rd1]; setp.eq.u32 %p1, %r3, 0; @%p1 bra L;
red.global.add.u32 [%rd1+4], 1; ret;
SET: add.u32 %r4, %r4, 1; setp.lt.u32 %p6, %r4, 300000; @%p6 bra SET;
st.release.gpu.global.u32 [%rd1], %r4; red.global.add.u32 [%rd1+4], 1; ret;)",
             3, 3 * 64);
}

TEST(Stall, TheClockChoosesWhatIsLookedAt) {
  // Late looks go to a flag that was set; a barrier follows, not an effect.
  expect_end(R"(
mov.u64 %rd2, %clock64; setp.ne.u32 %p3, %r1, 0; @%p3 bra B; red.global.add.u32 [%rd1+8], 1;
L: mov.u64 %rd3, %clock64; sub.u64 %rd3, %rd3, %rd2; setp.lt.u64 %p2, %rd3, 20000;
mov.u64 %rd4, 8; @!%p2 bra LATE; mov.u64 %rd4, 0;
LATE: add.u64 %rd4, %rd4, %rd1; ld.volatile.global.u32 %r3, [%rd4];
setp.eq.u32 %p1, %r3, 0; @%p1 bra L;
B: bar.sync 0; red.global.add.u32 [%rd1+4], 1; ret;)",
             2, 2 * 64);
}

TEST(Stall, AWaitThatGivesUpByTheClockBeforeABarrier) {
  expect_end(R"(
mov.u64 %rd2, %clock64; setp.ne.u32 %p3, %r1, 0; @%p3 bra B;
L: ld.volatile.global.u32 %r3, [%rd1]; mov.u64 %rd3, %clock64; sub.u64 %rd3, %rd3, %rd2;
setp.lt.u64 %p2, %rd3, 20000; setp.eq.and.u32 %p1, %r3, 0, %p2; @%p1 bra L;
B: bar.sync 0; red.global.add.u32 [%rd1+4], 1; ret;)",
             2, 2 * 64);
}

// A kernel that asks the program, and waits for its answer, 3 times.
constexpr const char* kAsks = R"(
setp.ne.u32 %p1, %r1, 0; @%p1 bra END; mov.u32 %r4, 1;
ASK: st.volatile.global.u32 [%rd1], %r4;
L: ld.volatile.global.u32 %r3, [%rd1+64]; setp.ne.u32 %p2, %r3, %r4; @%p2 bra L;
add.u32 %r4, %r4, 1; setp.le.u32 %p3, %r4, 3; @%p3 bra ASK;
END: ret;)";

/// Its end if the program gives so many answers.
LaunchSummary asked(std::uint32_t answers) {
  Bench bench(waiting(kAsks));
  const std::uint64_t flags = bench.machine.memory().allocate_shared(128, "mailbox");
  auto* const words = reinterpret_cast<std::uint32_t*>(flags);
  std::thread program([&] {
    const std::atomic_ref<std::uint32_t> question(words[0]), answer(words[16]);
    for (std::uint32_t i = 1; i <= answers; ++i) {
      while (question.load() != i) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      answer.store(i);
    }
  });
  const LaunchSummary summary = bench.run("k", {1}, {64}, {.threads = 1}, flags);
  program.join();
  return summary;
}

TEST(Stall, AProgramThatAnswersIsGivenTime) {
  const LaunchSummary summary = asked(3);
  EXPECT_TRUE(summary.complete()) << summary.message;
}

TEST(Stall, AProgramThatStopsAnswering) {
  const LaunchSummary summary = asked(1);
  EXPECT_EQ(summary.deadlocked_blocks, 1u) << summary.message;
}

TEST(Stall, BackoffThatDoublesBetweenLooks) {
  // The inner loop's length is what changes; the flag is set when another block has waited enough.
  expect_end(R"(
mov.u32 %r5, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra SLOW;
L: ld.acquire.gpu.global.u32 %r3, [%rd1]; setp.ne.u32 %p2, %r3, 0; @%p2 bra END;
mov.u32 %r4, 0;
B: add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, %r5; @%p3 bra B;
add.u32 %r5, %r5, 1; bra L;
SLOW: ld.volatile.global.u32 %r6, [%rd1+8]; add.u32 %r5, %r5, 1;
setp.lt.u32 %p4, %r5, 2000; @%p4 bra SLOW;
st.release.gpu.global.u32 [%rd1], 1;
END: red.global.add.u32 [%rd1+4], 1; ret;)",
             2, 2 * 64);
}

TEST(Stall, TicketsPassFromBlockToBlock) {
  // A fair lock: each warp's first lane takes a ticket and waits for its number.
  expect_end(R"(
and.b32 %r3, %r1, 31; setp.ne.u32 %p1, %r3, 0; @%p1 bra END;
atom.global.add.u32 %r4, [%rd1], 1;
L: ld.acquire.gpu.global.u32 %r5, [%rd1+8]; setp.ne.u32 %p2, %r5, %r4; @%p2 bra L;
ld.global.u32 %r6, [%rd1+4]; add.u32 %r6, %r6, 1; st.global.u32 [%rd1+4], %r6;
add.u32 %r5, %r5, 1; st.release.gpu.global.u32 [%rd1+8], %r5;
END: ret;)",
             20, 40);
}

TEST(Stall, LanesOfAWarpThatWaitForOneAnother) {
  // Lane 31 waits for lane 30 and so on; the youngest path spins first.
  expect_end(R"(
setp.ge.u32 %p1, %r1, 32; @%p1 bra END; mul.wide.u32 %rd2, %r1, 4; mov.u64 %rd3, cell;
setp.eq.u32 %p2, %r1, 0; @%p2 bra GO;
mov.u32 %r5, cell;
L: ld.volatile.shared.u32 %r3, [%r5]; setp.ne.u32 %p3, %r3, %r1; @%p3 bra L;
GO: add.u32 %r4, %r1, 1; st.volatile.shared.u32 [cell], %r4;
red.global.add.u32 [%rd1+4], 1;
END: ret;)",
             2, 64);
}

}  // namespace
}  // namespace tilescope::emulator::test
