// Advice on divergence, on warps that are not full, and on local memory.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/format.hpp"
#include "report/advice_rules.hpp"
#include "report/lanes_report.hpp"

namespace tilescope::report {
namespace {

using observe::DivergedWarp;
using observe::InstructionCount;

/// The lanes on each side of a branch.
std::string ways_text(const DivergedWarp& w) {
  constexpr emulator::LaneMask even = 0x55555555;
  const emulator::LaneMask others = w.active & ~w.taken;
  if (w.taken == (w.active & even) || others == (w.active & even)) {
    return "the even threads go one way, the odd ones the other";
  }
  const auto is_first_lanes = [&](emulator::LaneMask mask) {
    const int end = 32 - std::countl_zero(mask);
    return (w.active & ((end == 32 ? ~0U : (1U << unsigned(end)) - 1))) == mask;
  };
  for (const emulator::LaneMask mask : {w.taken, others}) {
    if (is_first_lanes(mask)) {
      const int count = std::popcount(mask);
      return fmt::format("the first {}of its {} active threads {} one way, the rest the other",
                         count == 1 ? "" : fmt::format("{} ", count), std::popcount(w.active),
                         count == 1 ? "goes" : "go");
    }
  }
  const emulator::LaneMask fewer =
      std::popcount(w.taken) <= std::popcount(others) ? w.taken : others;
  return fmt::format("lane{} one way, the rest the other",
                     std::popcount(fewer) == 1 ? fmt::format(" {} goes", lanes_text(fewer))
                                               : fmt::format("s {} go", lanes_text(fewer)));
}

void divergence(const AdviceInput& input, const LineCounts& line, std::vector<Advice>& advice) {
  const Counts& c = line.counts;
  if (c.divergent_branches == 0 || c.branches == 0) return;
  const InstructionCount* worst = nullptr;
  std::uint64_t idle = 0;
  for (const InstructionCount& i : input.instructions) {
    if (i.place != line.place || !i.diverged) continue;
    idle = std::max(idle, i.diverged->idle_lanes);  // branches of one line are mostly nested
    if (!worst || i.counts.divergent_branches > worst->counts.divergent_branches) worst = &i;
  }
  const Counts& all = input.counts.totals;
  const std::uint64_t slots = std::uint64_t{emulator::kWarpSize} * all.instructions;
  if (worst == nullptr || slots == 0) return;
  const double share = double(std::min(idle, slots - all.thread_instructions)) / double(slots);
  if (share < least_share) return;
  const DivergedWarp& w = *worst->diverged;
  advice.push_back(
      {AdviceKind::divergence, line.place,
       fmt::format("{} of {} branches of warps diverge here ({:.1f}%): in warp {} of block {}, {}. "
                   "{}, which costs {:.0f}% of the kernel's lanes",
                   format_count(c.divergent_branches), format_count(c.branches),
                   100.0 * double(c.divergent_branches) / double(c.branches), w.warp, w.block,
                   ways_text(w),
                   w.backward ? "Those that leave the loop early wait for the others"
                              : "Each way runs while the other's threads wait",
                   100.0 * share),
       share});
}

void local_memory(const AdviceInput& input, const LineCounts& line, std::vector<Advice>& advice) {
  SectorCounts own = line.counts.local_load, all = input.counts.totals.global();
  own += line.counts.local_store;
  all += input.counts.totals.local_load;
  all += input.counts.totals.local_store;
  if (own.requests == 0) return;
  const double share = double(own.sectors) / double(all.sectors);
  if (share < least_share) return;
  advice.push_back(
      {AdviceKind::local_memory, line.place,
       fmt::format("{} requests and {} sectors to local memory, which lies in the global one: an "
                   "array whose index is known only at run time (unrolling the loop may put it "
                   "into registers), or the frame of a call",
                   format_count(own.requests), format_count(own.sectors)),
       share});
}

void partial_warps(const AdviceInput& input, std::vector<Advice>& advice) {
  const std::uint64_t threads = std::uint64_t{input.counts.block.x} * input.counts.block.y *
                                std::max(input.counts.block.z, 1U);
  const std::uint64_t rest = threads % emulator::kWarpSize;
  if (rest == 0) return;
  const std::uint64_t warps = (threads + emulator::kWarpSize - 1) / emulator::kWarpSize;
  const double idle = 1.0 - double(threads) / double(warps * emulator::kWarpSize);
  if (idle < least_share) return;
  Advice whole;
  whole.kind = AdviceKind::partial_warps;
  whole.weight = idle;
  whole.message = fmt::format(
      "A block of {} threads is {} warp{}, {} {} of 32 threads: {:.0f}% of the lanes "
      "have no thread. Multiples of 32 fill them",
      threads, warps, warps == 1 ? "" : "s", warps == 1 ? "which has" : "the last of which has",
      rest, 100.0 * idle);
  advice.push_back(std::move(whole));
}

}  // namespace

void advise_on_flow(const AdviceInput& input, std::vector<Advice>& advice) {
  for (const LineCounts& line : input.counts.lines) {
    divergence(input, line, advice);
    local_memory(input, line, advice);
  }
  partial_warps(input, advice);
}

}  // namespace tilescope::report
