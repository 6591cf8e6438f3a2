#include "observe/findings.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace tilescope::observe {
namespace {

/// Causes come before what they lead to: an access that is wrong by itself, a barrier that cannot
/// order, accesses that nothing orders, and threads that wait for ever.
int rank(FindingKind kind) {
  switch (kind) {
    case FindingKind::barrier_mismatch:
    case FindingKind::bad_barrier:
    case FindingKind::warp_mask:
    case FindingKind::cluster_arrival:
    case FindingKind::missing_mbarrier_fence:
    case FindingKind::phase_parity:
    case FindingKind::named_barrier_reuse:
    case FindingKind::local_arrive_remote:
      return 1;
    case FindingKind::barrier_unreached:
    case FindingKind::endless_wait:
      return 3;
    default:
      return kind < FindingKind::uninitialised_read ? 0 : 2;
  }
}

auto key(const Finding& f) {
  const bool pair = f.second.has_value();
  // Without a line table the lines of the PTX distinguish findings.
  const std::uint32_t a = f.first.place.line == 0 ? f.first.ptx_line : 0;
  const std::uint32_t b = pair && f.second->place.line == 0 ? f.second->ptx_line : 0;
  return std::tuple(rank(f.kind), f.kind, f.first.place, a, pair ? f.second->place : SourcePlace{},
                    b, f.memory ? f.memory->object : std::string());
}

/// Orders races by the distance of their threads: the cure of the widest cures the others too.
int reach(const Finding& f) {
  const RaceFacts* race = std::get_if<RaceFacts>(&f.facts);
  return race == nullptr ? 0 : std::max(static_cast<int>(race->relation), 1);
}

void add_schedules(std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& from) {
  std::vector<std::uint64_t> both;
  std::set_union(to.begin(), to.end(), from.begin(), from.end(), std::back_inserter(both));
  to = std::move(both);
}

}  // namespace

bool is_same_defect(const Finding& a, const Finding& b) {
  return key(a) == key(b);
}

void merge_schedule(std::vector<Finding>& findings, const std::vector<Finding>& of_schedule,
                    std::uint64_t seed) {
  for (const Finding& found : of_schedule) {
    auto known = std::find_if(findings.begin(), findings.end(), [&](const Finding& finding) {
      return is_same_defect(finding, found) && finding.launch == found.launch;
    });
    if (known == findings.end()) known = findings.insert(known, found);
    known->severity = std::min(known->severity, found.severity);
    known->schedules.push_back(seed);
  }
}

void fold(std::vector<Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    if (key(a) != key(b)) return key(a) < key(b);
    // The worst severity first: it is that of the folded finding.
    return std::tuple(a.severity, -reach(a)) < std::tuple(b.severity, -reach(b));
  });
  std::vector<Finding> folded;
  for (Finding& finding : findings) {
    if (!folded.empty() && key(folded.back()) == key(finding)) {
      folded.back().count += finding.count;
      add_schedules(folded.back().schedules, finding.schedules);
    } else {
      folded.push_back(std::move(finding));
    }
  }
  findings = std::move(folded);
}

}  // namespace tilescope::observe
