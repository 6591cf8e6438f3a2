#include "inspect/results/finding_limit.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "observe/findings.hpp"

namespace tilescope::inspect {
namespace {

bool counts(const Finding& finding) {
  return finding.severity != Severity::note;
}

/// Ascends with the time at which a run in the usual order meets it; findings without a thread
/// come when their launch has ended.
auto time_of(const Finding& finding) {
  const Dim3 block = finding.first.thread ? finding.first.thread->block : Dim3{~0U, ~0U, ~0U};
  return std::tuple(finding.launch, block.z, block.y, block.x);
}

}  // namespace

bool reaches_limit(std::vector<Finding> findings, std::uint64_t most) {
  if (most == 0 || findings.size() < most) return false;
  observe::fold(findings);
  return static_cast<std::uint64_t>(std::ranges::count_if(findings, counts)) >= most;
}

std::uint64_t keep_first(std::vector<Finding>& findings, std::uint64_t most) {
  std::vector<const Finding*> by_time;
  for (const Finding& finding : findings) {
    if (counts(finding)) by_time.push_back(&finding);
  }
  if (by_time.size() <= most) return 0;
  std::ranges::stable_sort(by_time, {}, [](const Finding* finding) { return time_of(*finding); });
  const std::set<const Finding*> dropped(by_time.begin() + static_cast<std::ptrdiff_t>(most),
                                         by_time.end());
  std::vector<Finding> kept;
  for (Finding& finding : findings) {
    if (!dropped.contains(&finding)) kept.push_back(std::move(finding));
  }
  findings = std::move(kept);
  return dropped.size();
}

}  // namespace tilescope::inspect
