#include "observe/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace tilescope::observe {
namespace {

auto key(const Finding& f) {
  const bool pair = f.second.has_value();
  // Without a line table the lines of the PTX tell findings apart.
  const std::uint32_t a = f.first.place.line == 0 ? f.first.ptx_line : 0;
  const std::uint32_t b = pair && f.second->place.line == 0 ? f.second->ptx_line : 0;
  return std::tuple(f.kind, f.first.place, a, pair ? f.second->place : SourcePlace{}, b,
                    f.address.substr(0, f.address.find_first_of("[ ")));
}

}  // namespace

std::string_view to_string(FindingKind kind) {
  switch (kind) {
    case FindingKind::out_of_bounds:
      return "out-of-bounds";
    case FindingKind::misaligned:
      return "misaligned";
    case FindingKind::null_pointer:
      return "null-pointer";
    case FindingKind::freed_memory:
      return "freed-memory";
    case FindingKind::wrong_space:
      return "wrong-space";
    case FindingKind::read_only:
      return "read-only";
    case FindingKind::uninitialised_read:
      return "uninitialised-read";
    case FindingKind::race:
      return "race";
    case FindingKind::unfinished_copy:
      return "unfinished-copy";
    case FindingKind::barrier_unreached:
      return "barrier-unreached";
    case FindingKind::barrier_mismatch:
      return "barrier-mismatch";
    case FindingKind::bad_barrier:
      return "bad-barrier";
    case FindingKind::warp_mask:
      return "warp-mask";
    case FindingKind::bad_call:
      return "bad-call";
    case FindingKind::bad_operand:
      return "bad-operand";
    case FindingKind::trap:
      return "trap";
    case FindingKind::unfinished:
      return "unfinished";
    case FindingKind::wrote_nothing:
      return "wrote-nothing";
  }
  return "";
}

std::string to_string(const ThreadName& name) {
  return fmt::format("block ({},{},{}), thread ({},{},{})", name.block.x, name.block.y,
                     name.block.z, name.thread.x, name.thread.y, name.thread.z);
}

void fold(std::vector<Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    if (key(a) != key(b)) return key(a) < key(b);
    return a.weight > b.weight;
  });
  std::vector<Finding> folded;
  for (Finding& finding : findings) {
    if (!folded.empty() && key(folded.back()) == key(finding)) {
      folded.back().count += finding.count;
    } else {
      folded.push_back(std::move(finding));
    }
  }
  findings = std::move(folded);
}

}  // namespace tilescope::observe
