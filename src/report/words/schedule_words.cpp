// The words of results that depend on the order of blocks, warps and engines.
#include <fmt/format.h>

#include "base/format.hpp"
#include "report/words/wording.hpp"

namespace tilescope::report {

Wording schedule_words(const Finding& finding) {
  const auto facts = facts_of<ScheduleFacts>(finding);
  const MemoryPlace memory = memory_of(finding);
  std::string what = fmt::format(
      "{} is {} in the usual order and {} in schedule {}, where {} of {} "
      "differ{}",
      to_string(memory), facts.usual, facts.other, facts.seed, counted(facts.elements, "element"),
      object_name(memory), facts.elements == 1 ? "s" : "");
  if (facts.floating_atomics) {
    return {
        what + fmt::format(", by {:.2g} at most; floating-point atomics round by their order",
                           facts.greatest),
        "none, if such differences do not matter; else sum in a fixed order, such as in a tree"};
  }
  if (facts.permuted) {
    return {what + "; it has the same elements in other places, as atomics handed them out",
            "none, if the order of the elements does not matter; else sort them, or compute their "
            "places (a scan)"};
  }
  if (facts.clock) return {what + "; the kernel reads a clock", ""};
  return {std::move(what),
          "order the threads that write this element and those that read what it is made of, let "
          "one thread write it, or use an atomic"};
}

}  // namespace tilescope::report
