// Findings about the phases of mbarriers, numbers of named barriers and budgets of registers.
#include <fmt/format.h>

#include "report/words/wording.hpp"

namespace tilescope::report {
namespace {

/// "phase 3 of full[1]"
std::string phase_name(const PhaseFacts& facts) {
  return fmt::format("phase {} of {}", facts.phase,
                     facts.barrier.empty() ? "an mbarrier" : facts.barrier);
}

Wording bytes_words(const PhaseFacts& facts) {
  return {fmt::format("{} expects {} bytes, and {} come", phase_name(facts), facts.expected_bytes,
                      facts.bytes),
          "let one thread expect, once a phase, the bytes of all copies that complete on it "
          "(mbarrier.arrive.expect_tx)"};
}

Wording arrivals_words(const PhaseFacts& facts) {
  return {fmt::format("{} waits for {}, and {} come", phase_name(facts),
                      counted(facts.expected_arrivals, "arrival"), facts.arrivals),
          "give mbarrier.init the number of threads that arrive in each phase"};
}

Wording parity_words(const PhaseFacts& facts) {
  return {
      fmt::format("the wait for {} {}", phase_name(facts),
                  facts.fault == PhaseFault::phase_missed ? "comes when the phase has come and gone"
                                                          : "passes before the phase has begun"),
      "flip the parity of the wait once each time the stage comes round; a consumer begins "
      "with 0, a producer that finds the stages empty with 1"};
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
