// Kernels that are run in both tiers, and leave six numbers of each thread to be compared.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/harness.hpp"

namespace tilescope::emulator::test {

inline constexpr std::uint32_t kTurnRounds = 6, kTurnBlocks = 40, kTurnThreads = 96;

/// The thread's results at %rd3, its number in %r1, the counter's address in %r5.
inline constexpr std::string_view kTurnBegin = R"(.visible .entry k(.param .u64 results)
{
  .reg .pred %p<4>;
  .reg .b32 %r<12>;
  .reg .b64 %rd<5>;
  .shared .align 4 .b32 counter;
  ld.param.u64 %rd1, [results];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r4, %r2, %r3, %r1;
  mul.wide.u32 %rd2, %r4, 24;
  add.u64 %rd3, %rd1, %rd2;
  mov.u32 %r5, counter;
)";

struct TurnsOutcome {
  LaunchSummary summary;
  std::vector<std::uint32_t> numbers;
};

inline TurnsOutcome run_turns(const std::string& ptx, std::uint64_t limit, bool interpret) {
  Bench bench(ptx);
  const std::size_t count = std::size_t{kTurnBlocks} * kTurnThreads * kTurnRounds;
  const std::uint64_t results = bench.upload(std::vector<std::uint32_t>(count, 0), "results");
  LaunchOptions options{.threads = 1, .max_instructions = limit};
  options.interpret = interpret;
  TurnsOutcome outcome;
  outcome.summary = bench.run("k", {kTurnBlocks}, {kTurnThreads}, options, results);
  outcome.numbers = bench.download<std::uint32_t>(results, count);
  return outcome;
}

/// A kernel that goes on behind kTurnBegin; `total` is a word of global memory.
inline std::string turns_kernel(std::string_view body) {
  return std::string(kHeader) + ".global .align 4 .u32 total;\n" + std::string(kTurnBegin) +
         std::string(body);
}

/// Returns what the interpreter gives.
inline TurnsOutcome expect_as_interpreted(std::string_view body) {
  setenv("TILESCOPE_COMPILE_AFTER", "2", 1);
  const std::string ptx = turns_kernel(body);
  TurnsOutcome interpreted = run_turns(ptx, 0, true);
  const TurnsOutcome compiled = run_turns(ptx, 0, false);
  EXPECT_EQ(interpreted.summary.warp_instructions, compiled.summary.warp_instructions);
  EXPECT_EQ(interpreted.numbers, compiled.numbers);
  unsetenv("TILESCOPE_COMPILE_AFTER");
  return interpreted;
}

}  // namespace tilescope::emulator::test
