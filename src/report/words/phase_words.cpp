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
  const bool missed = facts.fault == PhaseFault::phase_missed;
  return {fmt::format("the wait is for {}, {}", phase_name(facts),
                      missed ? "which has ended, and so has the phase behind it: by its parity the "
                               "thread now waits for a later one, which never ends"
                             : "but it passes at once: it asks for the parity of the phase before"),
          "flip the parity each time the thread comes back to the barrier: 0 for its first phase, "
          "then 1, then 0; only a producer that finds its stages empty begins with 1"};
}

Wording endless_words(const PhaseFacts& facts) {
  return {fmt::format("threads wait for {} for ever: {}", phase_name(facts), progress(facts)),
          "let threads arrive for this phase before they wait for others; a producer that finds "
          "its stages empty waits for parity 1 first"};
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
      return {fmt::format("{} is used by others than the thread that initialised it, and no fence "
                          "makes the initialisation visible to them",
                          facts.barrier.empty() ? "an mbarrier" : facts.barrier),
              "behind mbarrier.init put fence.mbarrier_init.release.cluster (for blocks of the "
              "cluster) or fence.proxy.async (for copies), and then a barrier"};
  }
}

Wording named_barrier_words(const Finding& finding) {
  const auto wait = facts_of<WaitFacts>(finding);
  return {fmt::format("barrier {} is used again before those it was for have waited", wait.barrier),
          "give each purpose a barrier of its own, and let arrivals and waits take turns"};
}

Wording local_arrive_words(const Finding& finding) {
  const auto facts = facts_of<ClusterFacts>(finding);
  return {fmt::format("an arrival that reaches only barriers of its own block is given {} of block "
                      "{} of the cluster",
                      to_string(memory_of(finding)), facts.rank),
          "use mbarrier.arrive.release.cluster.shared::cluster with the address that mapa gives, "
          "and drop its result"};
}

Wording register_budget_words(const Finding& finding) {
  const auto facts = facts_of<BudgetFacts>(finding);
  return {fmt::format("the warps of the block ask for {} in all, and it has {}",
                      counted(facts.asked, "register"), facts.available),
          "let setmaxnreg.dec of the producers free what setmaxnreg.inc of the consumers takes"};
}

}  // namespace tilescope::report
