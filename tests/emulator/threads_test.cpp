// The results of a launch do not depend on the number of host threads: memory, printed text, faults
// and their texts.
#include "emulator/harness.hpp"

namespace tilescope::emulator::test {
namespace {

struct ThreadsOutcome {
  std::vector<std::uint32_t> memory;
  std::string printed, faults;
  std::uint64_t instructions = 0;
  bool operator==(const ThreadsOutcome&) const = default;
};

// Each thread: a float sum in global memory (its order shows in the last bits), an integer maximum,
// a read of local memory that was never written, a recursion whose depth depends on the block, a
// line of text from one thread of a block, and from one block in seven a store past the end.
constexpr char kText[] = R"(
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .align 1 .b8 line[10] = {98, 108, 111, 99, 107, 32, 37, 117, 10, 0};
.func (.param .b32 r) down(.param .b32 n);
.func (.param .b32 r) down(.param .b32 n) {
.reg .b32 %r<8>; .reg .pred %p; .local .align 4 .b8 stack[64]; .reg .b64 %rd;
ld.param.b32 %r1, [n]; mov.u64 %rd, stack; ld.local.b32 %r3, [%rd+8]; st.local.b32 [%rd+8], %r1;
setp.eq.u32 %p, %r1, 0; @%p bra END;
{ .param .b32 a; .param .b32 b; sub.u32 %r2, %r1, 1; st.param.b32 [a], %r2; call (b), down, (a);
ld.param.b32 %r4, [b]; }
add.u32 %r3, %r3, %r4;
END: add.u32 %r3, %r3, 1; st.param.b32 [r], %r3; ret; }
.visible .entry k(.param .u64 out) {
.reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<8>; .reg .pred %p<8>;
.local .align 8 .b8 args[8];
ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
mad.lo.u32 %r4, %r2, %r3, %r1; cvt.rn.f32.u32 %f1, %r4; add.f32 %f1, %f1, 0f3DCCCCCD;
rcp.rn.f32 %f2, %f1; atom.global.add.f32 %f3, [%rd1], %f2;
mul.lo.u32 %r5, %r4, 2654435761; red.global.max.u32 [%rd1+4], %r5;
rem.u32 %r6, %r2, 5; { .param .b32 a; .param .b32 b; st.param.b32 [a], %r6; call (b), down, (a);
ld.param.b32 %r7, [b]; }
mul.wide.u32 %rd2, %r4, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3+8], %r7;
setp.ne.u32 %p1, %r1, 0; @%p1 bra SILENT;
st.local.u32 [args], %r2; cvta.global.u64 %rd4, line; cvta.local.u64 %rd5, args;
{ .param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], %rd4; st.param.b64 [b], %rd5;
call (c), vprintf, (a, b); }
SILENT: rem.u32 %r8, %r2, 7; setp.ne.u32 %p2, %r8, 3; @%p2 bra END;
st.global.u32 [%rd3+1000000], %r8;
END: ret; }
)";

ThreadsOutcome outcome(unsigned threads) {
  Bench bench(std::string(kHeader) + kText);
  constexpr std::uint32_t kBlocks = 60, kThreads = 40;
  const std::uint64_t out = bench.machine.allocate(8 + kBlocks * kThreads * 4, "out");
  ThreadsOutcome result;
  const LaunchSummary summary = bench.run(
      "k", {kBlocks}, {kThreads},
      {.threads = threads, .print = [&](std::string_view text) { result.printed += text; }}, out);
  EXPECT_EQ(summary.end, LaunchEnd::complete) << summary.message;
  result.memory = bench.download<std::uint32_t>(out, 2 + kBlocks * kThreads);
  for (const FaultRecord& fault : summary.faults) {
    result.faults += fault.text + " x" + std::to_string(fault.count) + "\n";
  }
  result.instructions = summary.warp_instructions;
  return result;
}

TEST(HostThreads, DoNotShow) {
  const ThreadsOutcome alone = outcome(1);
  EXPECT_THAT(alone.printed, ::testing::StartsWith("block 0\nblock 1\nblock 2\n"));
  EXPECT_THAT(alone.faults, ::testing::HasSubstr("block (3,0,0), thread (0,0,0) x360"));
  EXPECT_EQ(alone.memory[2 + 40 * 4], 5u);  // five activations, nothing left on the stack
  for (const unsigned threads : {2u, 3u, 8u}) EXPECT_EQ(outcome(threads), alone) << threads;
}

// Without float sums the blocks really run side by side.
TEST(HostThreads, DoNotShowWhereBlocksRunAtOnce) {
  std::string text = kText;
  text.replace(text.find("atom.global.add.f32 %f3, [%rd1], %f2;"), 37, "");
  const auto outcome_of = [&](unsigned threads) {
    Bench bench(std::string(kHeader) + text);
    const std::uint64_t out = bench.machine.allocate(8 + 60 * 40 * 4, "out");
    std::string printed;
    const LaunchSummary summary = bench.run(
        "k", {60}, {40},
        {.threads = threads, .print = [&](std::string_view piece) { printed += piece; }}, out);
    EXPECT_EQ(summary.threads, threads);
    EXPECT_EQ(summary.faults.size(), 1u);
    return std::tuple(bench.download<std::uint32_t>(out, 2 + 60 * 40), printed,
                      summary.faults.at(0).text, summary.faults.at(0).count);
  };
  const auto alone = outcome_of(1);
  for (const unsigned threads : {2u, 8u}) EXPECT_EQ(outcome_of(threads), alone) << threads;
}

}  // namespace
}  // namespace tilescope::emulator::test
