// Parts that only some lanes of a warp run, parts inside these, and the last rounds of loops for
// lanes that are known when code is made: with all that is told of them as in the interpreter.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>

#include "emulator/harness.hpp"
#include "emulator/sum_recorder.hpp"

namespace tilescope::emulator::test {
namespace {

constexpr std::uint32_t kPartBlocks = 60, kPartThreads = 96, kPartBytes = 24, kCells = 230;

/// The thread's results at %rd3, its number in %r1, its block's in %r2; `cells` has as many words
/// as the memory at %rd1.
constexpr std::string_view kPartBegin = R"(.shared .align 4 .b32 cells[230];
.visible .entry k(.param .u64 data, .param .u64 results)
{
  .reg .pred %p<6>;
  .reg .b32 %r<16>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [data];
  ld.param.u64 %rd2, [results];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r4, %r2, %r3, %r1;
  mul.wide.u32 %rd3, %r4, 24;
  add.u64 %rd3, %rd2, %rd3;
  mov.u32 %r5, cells;
  mov.u32 %r6, 5;
  mov.u32 %r7, 7;
  mov.u32 %r8, 0;
  setp.lt.u32 %p4, %r1, 50;
)";

constexpr std::string_view kPartEnd = R"(  selp.u32 %r9, 1, 0, %p4;
  st.global.u32 [%rd3], %r6;
  st.global.u32 [%rd3+4], %r7;
  st.global.u32 [%rd3+8], %r8;
  st.global.u32 [%rd3+12], %r9;
  ret;
}
)";

struct PartsOutcome {
  LaunchSummary summary;
  SumRecorder recorder{false};
  std::vector<std::uint32_t> numbers;
};

std::unique_ptr<PartsOutcome> run_parts(const std::string& ptx, bool watched, bool interpret,
                                        std::uint64_t limit = 0) {
  auto outcome = std::make_unique<PartsOutcome>();
  Bench bench(ptx);
  std::vector<std::uint32_t> cells(kCells);
  for (std::uint32_t i = 0; i < kCells; ++i) cells[i] = i * i + 1;
  const std::uint64_t data = bench.upload(cells, "data");
  const std::size_t count = std::size_t{kPartBlocks} * kPartThreads * kPartBytes / 4;
  const std::uint64_t results = bench.upload(std::vector<std::uint32_t>(count, 0), "results");
  LaunchOptions options{.threads = 1, .max_instructions = limit};
  if (watched) options.observers = {&outcome->recorder};
  options.interpret = interpret;
  outcome->summary = bench.run("k", {kPartBlocks}, {kPartThreads}, options, data, results);
  outcome->numbers = bench.download<std::uint32_t>(results, count);
  return outcome;
}

std::string parts_kernel(std::string_view body) {
  return std::string(kHeader) + std::string(kPartBegin) + std::string(body) + std::string(kPartEnd);
}

/// Returns the number of faults.
std::uint64_t expect_same_parts(std::string_view body) {
  const CompileSoon soon;
  const std::string ptx = parts_kernel(body);
  std::uint64_t faults = 0;
  for (const bool watched : {false, true}) {
    const auto interpreted = run_parts(ptx, watched, true);
    const auto compiled = run_parts(ptx, watched, false);
    EXPECT_EQ(interpreted->summary.warp_instructions, compiled->summary.warp_instructions);
    EXPECT_EQ(interpreted->summary.thread_instructions, compiled->summary.thread_instructions);
    EXPECT_EQ(interpreted->summary.fault_count, compiled->summary.fault_count);
    EXPECT_EQ(interpreted->recorder.branches, compiled->recorder.branches);
    EXPECT_EQ(interpreted->numbers, compiled->numbers);
    faults = compiled->summary.fault_count;
  }
  return faults;
}

/// In block b the lanes up to b run the outer part, some of them the inner one, and some of these
/// the innermost. Registers of known shape are written on every way.
constexpr std::string_view kInside = R"(  setp.gt.u32 %p1, %r1, %r2;
  @%p1 bra meet;
  add.u32 %r6, %r1, 100;
  setp.lt.u32 %p4, %r1, 9;
  and.b32 %r10, %r1, 3;
  setp.eq.u32 %p2, %r10, 1;
  @%p2 bra inner;
  mov.u32 %r6, %r2;
  add.u32 %r7, %r6, %r1;
  setp.gt.u32 %p4, %r1, 3;
  mov.u32 %r8, 77;
  and.b32 %r11, %r1, 4;
  setp.ne.u32 %p3, %r11, 0;
  @%p3 bra innermost;
  add.u32 %r7, %r7, 1000;
  add.u32 %r8, %r8, %r1;
innermost:
  add.u32 %r8, %r8, 1;
inner:
  add.u32 %r7, %r7, %r6;
meet:
  add.u32 %r8, %r8, %r2;
)";

TEST(CompiledParts, InsideParts) {
  expect_same_parts(kInside);
}

/// The lanes of the inner part go straight to where those of the outer one meet.
constexpr std::string_view kSameJoin = R"(  setp.gt.u32 %p1, %r1, %r2;
  @%p1 bra meet;
  add.u32 %r6, %r1, 100;
  and.b32 %r10, %r1, 5;
  setp.eq.u32 %p2, %r10, 1;
  @%p2 bra meet;
  add.u32 %r7, %r6, %r1;
  setp.gt.u32 %p4, %r1, 3;
meet:
  add.u32 %r8, %r6, %r7;
)";

TEST(CompiledParts, MeetAtOnePlace) {
  expect_same_parts(kSameJoin);
}

/// Each lane goes round as often as its number says; in each round some run a part.
constexpr std::string_view kInLoop = R"(  and.b32 %r10, %r1, 7;
  add.u32 %r10, %r10, 2;
  mov.u32 %r11, 0;
round:
  add.u32 %r11, %r11, 1;
  add.u32 %r12, %r11, %r1;
  and.b32 %r12, %r12, 3;
  setp.eq.u32 %p2, %r12, 1;
  setp.lt.u32 %p4, %r12, 2;
  @%p2 bra skip;
  mov.u32 %r6, %r11;
  add.u32 %r7, %r7, %r6;
  setp.lt.u32 %p4, %r11, %r2;
skip:
  add.u32 %r8, %r8, %r6;
  sub.u32 %r10, %r10, 1;
  setp.ne.u32 %p1, %r10, 0;
  @%p1 bra round;
)";

TEST(CompiledParts, InsideRoundsOfALoop) {
  expect_same_parts(kInLoop);
}

/// The end of a turn inside a part is where the interpreter's is.
TEST(CompiledParts, EndAtTheSameInstruction) {
  const CompileSoon soon;
  const std::string ptx = parts_kernel(kInLoop);
  for (std::uint64_t limit = 1000; limit < 6000; limit += 37) {
    const auto interpreted = run_parts(ptx, false, true, limit);
    const auto compiled = run_parts(ptx, false, false, limit);
    EXPECT_EQ(interpreted->summary.end, LaunchEnd::budget_spent) << limit;
    EXPECT_EQ(interpreted->summary.warp_instructions, compiled->summary.warp_instructions) << limit;
    EXPECT_EQ(interpreted->numbers, compiled->numbers) << limit;
  }
}

/// Lanes that do not run the inner part have addresses beyond the memory; in the last block one
/// that runs has, too.
constexpr std::string_view kStray = R"(  mul.wide.u32 %rd4, %r1, 4;
  add.u64 %rd4, %rd4, %rd1;
  setp.gt.u32 %p1, %r1, 80;
  @%p1 bra meet;
  add.u32 %r6, %r1, 3;
  and.b32 %r10, %r1, 3;
  setp.eq.u32 %p2, %r10, 2;
  @%p2 bra inner;
  sub.u32 %r11, %r2, 58;
  max.s32 %r11, %r11, 0;
  mul.wide.u32 %rd5, %r11, 600;
  add.u64 %rd4, %rd4, %rd5;
  ld.global.u32 %r7, [%rd4];
  add.u32 %r7, %r7, 1;
inner:
  add.u32 %r6, %r6, %r7;
meet:
  add.u32 %r8, %r6, %r2;
)";

TEST(CompiledParts, LeaveWhereAnAddressIsWrong) {
  EXPECT_GT(expect_same_parts(kStray), 0u);
}

/// The threads of a block fill a tile of rows of 34 cells, of which some lie outside: the last
/// round is that of some lanes of the second and third warp. What other lanes would have read and
/// written lies behind the memory.
constexpr std::string_view kTileEnds = R"(  mov.u32 %r10, %r1;
  sub.u32 %r15, %r2, 3;
cell:
  mul.hi.u32 %r11, %r10, 2021161081;
  shr.u32 %r11, %r11, 4;
  mul.lo.u32 %r12, %r11, 34;
  sub.u32 %r12, %r10, %r12;
  add.s32 %r13, %r12, %r15;
  setp.lt.s32 %p1, %r13, 0;
  setp.gt.s32 %p2, %r13, 60;
  or.pred %p1, %p1, %p2;
  mov.u32 %r14, 0;
  @%p1 bra outside;
  mul.wide.u32 %rd4, %r10, 4;
  add.u64 %rd4, %rd4, %rd1;
  ld.global.u32 %r14, [%rd4];
outside:
  shl.b32 %r9, %r10, 2;
  add.u32 %r9, %r9, %r5;
  st.shared.u32 [%r9], %r14;
  add.u32 %r8, %r8, %r10;
  add.u32 %r10, %r10, 96;
  setp.lt.u32 %p3, %r10, 230;
  @%p3 bra cell;
  bar.sync 0;
  mul.lo.u32 %r9, %r1, 8;
  add.u32 %r9, %r9, %r5;
  ld.shared.u32 %r6, [%r9];
  ld.shared.u32 %r7, [%r9+4];
)";

TEST(CompiledParts, LastRoundsOfKnownLanes) {
  EXPECT_EQ(expect_same_parts(kTileEnds), 0u);
}

/// A region has 64 blocks at most, and takes those first to which the fewest branches lead. With
/// the copy of a further round it may lack some that all lanes run before the loop.
TEST(CompiledParts, LieInRegionsOfAnySize) {
  for (int branches = 15; branches <= 32; ++branches) {
    std::string body = "  setp.lt.u32 %p5, %r1, 96;\n  @!%p5 bra skip;\n";
    for (int i = 0; i < branches; ++i) {
      body += fmt::format("  setp.gt.u32 %p5, %r2, {0};\n  @%p5 bra B{0};\n", i);
      body += fmt::format("  add.u32 %r7, %r7, %r1;\nB{}:\n", i);
    }
    SCOPED_TRACE(branches);
    EXPECT_EQ(expect_same_parts(body + "skip:\n" + std::string(kTileEnds)), 0u);
  }
}

/// The interpreter runs what has a guard: it reads the block's index in the frame.
constexpr std::string_view kGuardedIndex = R"(  bar.sync 0;
  @%p4 mov.u32 %r6, %ctaid.x;
  @!%p4 mad.lo.u32 %r7, %ctaid.x, 3, %r1;
  bar.sync 0;
  add.u32 %r8, %r6, %r7;
)";

TEST(CompiledParts, ReadTheBlocksIndex) {
  expect_same_parts(kGuardedIndex);
}

}  // namespace
}  // namespace tilescope::emulator::test
