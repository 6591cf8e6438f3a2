#include "inspect/results/explain_details.hpp"

#include <algorithm>

namespace tilescope::inspect {
namespace {

/// Merges two lists that are sorted by `id`; `combine` joins elements with the same one.
template <typename T, typename Id, typename Combine>
void merge_sorted(std::vector<T>& into, const std::vector<T>& from, Id&& id, Combine&& combine) {
  std::size_t at = 0;
  for (const T& element : from) {
    while (at < into.size() && id(into[at]) < id(element)) ++at;
    if (at < into.size() && id(into[at]) == id(element)) {
      combine(into[at], element);
    } else {
      into.insert(into.begin() + static_cast<std::ptrdiff_t>(at), element);
    }
  }
}

}  // namespace

std::vector<observe::LaneSample> ExplainDetails::samples() const {
  std::vector<observe::LaneSample> all;
  for (const OfLaunch& of : launches) all.insert(all.end(), of.samples.begin(), of.samples.end());
  return all;
}

std::vector<Pipeline> ExplainDetails::pipelines() const {
  std::vector<Pipeline> all;
  for (const OfLaunch& of : launches) {
    const bool known = std::ranges::any_of(
        all, [&](const Pipeline& pipeline) { return pipeline.kernel == of.counted.kernel; });
    if (!known) all.insert(all.end(), of.pipelines.begin(), of.pipelines.end());
  }
  return all;
}

void add_launch(ExplainDetails::OfLaunch& sum, const observe::CountedLaunch& counted,
                const std::vector<observe::LaneSample>& samples,
                const std::vector<Pipeline>& pipelines) {
  sum.counted += counted;
  if (sum.pipelines.empty()) sum.pipelines = pipelines;
  merge_sorted(
      sum.counted.instructions, counted.instructions,
      [](const observe::InstructionCount& count) { return count.id; },
      [](observe::InstructionCount& a, const observe::InstructionCount& b) {
        a.counts += b.counts;
        if (!a.diverged) a.diverged = b.diverged;
      });
  merge_sorted(
      sum.samples, samples, [](const observe::LaneSample& sample) { return sample.instruction; },
      [](observe::LaneSample& a, const observe::LaneSample& b) {
        if (observe::is_worse(b, a)) a = b;
      });
}

}  // namespace tilescope::inspect
