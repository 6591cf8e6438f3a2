// Findings about the phases of mbarriers, numbers of named barriers and budgets of registers.
#include <fmt/format.h>

#include "base/format.hpp"
#include "report/words/wording.hpp"

namespace tilescope::report {
namespace {

/// "phase 3 of full[1]"
std::string phase_name(const PhaseFacts& facts) {
  return fmt::format("phase {} of {}", facts.phase,
                     facts.barrier.empty() ? "an mbarrier" : facts.barrier);
}

/// "8,192 of 16,384 bytes, 1 of 1 arrivals"
std::string progress(const PhaseFacts& facts) {
  const std::string arrivals = fmt::format("{} of {} arrivals", format_count(facts.arrivals),
                                           format_count(facts.expected_arrivals));
  if (facts.expected_bytes == 0 && facts.bytes == 0) return arrivals;
  return fmt::format("{} of {} bytes, {}", format_count(facts.bytes),
                     format_count(facts.expected_bytes), arrivals);
}

Wording bytes_words(const PhaseFacts& facts) {
  constexpr auto cure =
      "let one thread expect, once a phase and before it arrives, the bytes of all copies that "
      "complete on it (mbarrier.arrive.expect_tx)";
  const std::string bytes = format_count(facts.bytes),
                    expected = format_count(facts.expected_bytes);
  switch (facts.fault) {
    case PhaseFault::not_expected:
      return {fmt::format("copies bring {} bytes to {}, which expects none: threads that wait for "
                          "it do not wait for them",
                          bytes, phase_name(facts)),
              cure};
    case PhaseFault::too_many_bytes:
      return {fmt::format("{} expects {} bytes, and copies bring {}: it ends before all have come, "
                          "or never",
                          phase_name(facts), expected, bytes),
              cure};
    case PhaseFault::expected_twice:
      return {fmt::format("{} expects {} bytes in two steps, and only {} come: it never ends",
                          phase_name(facts), expected, bytes),
              cure};
    case PhaseFault::over_limit:
      return {fmt::format("{} expects {} bytes; an mbarrier counts up to 1,048,575",
                          phase_name(facts), expected),
              "let several mbarriers, or several phases, announce the bytes"};
    default:
      return {fmt::format("{} never ends: {}", phase_name(facts), progress(facts)), cure};
  }
}

Wording arrivals_words(const PhaseFacts& facts) {
  if (facts.fault == PhaseFault::too_many_arrivals) {
    return {fmt::format("{} has all its arrivals and waits for bytes, and one more thread arrives: "
                        "{}",
                        phase_name(facts), progress(facts)),
            "let as many threads arrive in each phase as mbarrier.init says, or raise its count"};
  }
  return {fmt::format("{} never ends: {}, and those who could arrive wait or have left",
                      phase_name(facts), progress(facts)),
          "give mbarrier.init the number of arrivals of each phase, or let all of them arrive"};
}

Wording parity_words(const PhaseFacts& facts) {
  if (facts.fault == PhaseFault::not_tested) {
    return {fmt::format("{} need not be over here: nothing depends on what mbarrier.try_wait or "
                        "test_wait returns, and it may return false",
                        phase_name(facts)),
            "repeat the instruction until it returns true: while (!try_wait(...)) {}"};
  }
  const bool missed = facts.fault == PhaseFault::phase_missed;
  return {fmt::format("the wait is for {}, {}", phase_name(facts),
                      missed ? "which has ended, and so has the phase behind it: by its parity the "
                               "thread now waits for a later one, which never ends"
                             : "but it passes at once: it asks for the parity of the phase before"),
          "flip the parity each time the thread comes back to the barrier: 0 for its first phase, "
          "then 1, then 0; only a producer that finds its stages empty begins with 1"};
}

Wording init_words(const PhaseFacts& facts) {
  if (facts.fault == PhaseFault::not_ordered) {
    return {fmt::format("other threads use {}, and no barrier stands between them and its "
                        "mbarrier.init",
                        facts.barrier),
            "put __syncthreads() behind mbarrier.init (and its fence)"};
  }
  return {fmt::format("{} is used by the copy engine or another block, and no fence shows them its "
                      "mbarrier.init",
                      facts.barrier),
          "behind mbarrier.init put fence.mbarrier_init.release.cluster or, for copies only, "
          "fence.proxy.async, and then a barrier"};
}

Wording endless_words(const PhaseFacts& facts) {
  return {fmt::format("threads wait for {} for ever: {}", phase_name(facts), progress(facts)),
          "let threads arrive for this phase before they wait for others; a producer that finds "
          "its stages empty waits for parity 1 first"};
}

/// "a swizzle of 128 bytes"
std::string swizzle_name(std::uint32_t span) {
  return span == 16 ? "no swizzle" : fmt::format("a swizzle of {} bytes", span);
}

}  // namespace

Wording phase_words(const Finding& finding) {
  const auto facts = facts_of<PhaseFacts>(finding);
  switch (finding.kind) {
    case FindingKind::expected_bytes:
      return bytes_words(facts);
    case FindingKind::arrival_count:
      return arrivals_words(facts);
    case FindingKind::phase_parity:
      return parity_words(facts);
    case FindingKind::endless_wait:
      return endless_words(facts);
    default:
      return init_words(facts);
  }
}

Wording named_barrier_words(const Finding& finding) {
  const auto wait = facts_of<WaitFacts>(finding);
  switch (wait.mixup) {
    case BarrierMixup::other_count:
      return {fmt::format("barrier {} serves two purposes at once: these threads wait for another "
                          "number of threads than those who have come before",
                          wait.barrier),
              "give each purpose a number of its own, and the same count wherever it is used"};
    case BarrierMixup::nobody_waits:
      return {fmt::format("barrier {} is completed by bar.arrive alone: arrivals for two purposes "
                          "meet, and those who wait miss them",
                          wait.barrier),
              "give each purpose, such as full and empty, a number of its own"};
    default:
      return {fmt::format("a warp arrives at barrier {} again before the threads that its first "
                          "arrival was for have waited",
                          wait.barrier),
              "let the warp wait (bar.sync) at a second barrier, by which the others say that they "
              "have come, before it arrives again"};
  }
}

Wording local_arrive_words(const Finding& finding) {
  const auto facts = facts_of<ClusterFacts>(finding);
  return {fmt::format("an operation on the block's own mbarriers is given {} of block {} of the "
                      "cluster",
                      to_string(memory_of(finding)), facts.rank),
          "arrive there by mbarrier.arrive.release.cluster.shared::cluster, without a result; "
          "initialise and wait only in the block that has the barrier"};
}

Wording tile_words(const Finding& finding) {
  const auto facts = facts_of<TileFacts>(finding);
  switch (facts.fault) {
    case TileFault::beyond_variable:
      return {fmt::format("a copy of {} bytes goes {} bytes beyond the end of {}",
                          format_count(facts.bytes), format_count(facts.beyond),
                          object_name(memory_of(finding))),
              "let the variable take the whole box, or copy a smaller one"};
    case TileFault::other_swizzle:
      return {fmt::format("the descriptor of operand {} says {}, and the tile was copied with {}",
                          facts.operand, swizzle_name(facts.span), swizzle_name(facts.copied_span)),
              "let the descriptor and the tensor map name the same swizzle"};
    default:
      return {
          fmt::format("operand {} begins {} bytes behind a multiple of {}, where the pattern of "
                      "{} begins, and the base offset of its descriptor is {}",
                      facts.operand, facts.bytes, format_count(std::uint64_t{facts.span} * 8),
                      swizzle_name(facts.span), facts.base_offset),
          fmt::format("align the tile to {} bytes, or name the row of 128 bytes in which it "
                      "begins as base offset",
                      format_count(std::uint64_t{facts.span} * 8))};
  }
}

Wording register_budget_words(const Finding& finding) {
  const auto facts = facts_of<BudgetFacts>(finding);
  switch (facts.fault) {
    case BudgetFault::bad_count:
      return {fmt::format("setmaxnreg names {} registers; counts are multiples of 8 from 24 to 256",
                          facts.registers),
              "name a multiple of 8"};
    case BudgetFault::wrong_way:
      return {fmt::format("setmaxnreg changes {} registers per thread to {}, which is the other "
                          "way round",
                          facts.asked, facts.registers),
              "use .inc for more registers than the warp has, and .dec for fewer"};
    case BudgetFault::not_uniform:
      return {"some warps of a warpgroup run this setmaxnreg, and others do not",
              "let all four warps of the warpgroup run it, outside of a condition that differs "
              "between them"};
    default:
      return {fmt::format("the warps of the block ask for {} registers in all, and it was launched "
                          "with {}: some wait for ever",
                          format_count(facts.asked), format_count(facts.available)),
              "let setmaxnreg.dec of some warpgroups free as many as setmaxnreg.inc of the others "
              "takes"};
  }
}

}  // namespace tilescope::report
