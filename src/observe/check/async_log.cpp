#include "observe/check/async_log.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/one_of.hpp"

namespace tilescope::observe {
namespace {

constexpr std::uint32_t kMbarrierBytes = 8, kTensorMapBytes = 128;

bool is_same(const FindingAccess& a, const FindingAccess& b) {
  return a.place == b.place && a.action == b.action && a.bytes == b.bytes && a.thread == b.thread;
}

FindingAccess access_of(const AsyncSide& side, const Describer& describer) {
  FindingAccess access = describer.access(side.instruction, side.action, side.block, side.thread);
  if (side.bytes != 0) access.bytes = side.bytes;
  return access;
}

}  // namespace

void AsyncLog::add(const AsyncMistake& mistake) {
  const emulator::InstructionId first = mistake.first.instruction;
  mistakes_.add({mistake.kind, mistake.facts.fault, first,
                 mistake.second ? mistake.second->instruction : first},
                mistake);
}

/// Drops what another mistake explains: the same two accesses in the other order, and what comes of
/// a block that had not started.
void AsyncLog::drop_consequences(std::vector<Finding>& findings) {
  using enum FindingKind;
  const auto has = [&](auto&& matches) {
    return std::any_of(findings.begin(), findings.end(), matches);
  };
  const bool not_started =
      has([](const Finding& finding) { return finding.kind == cluster_not_started; });
  std::vector<Finding> kept;
  for (const Finding& finding : findings) {
    const auto has_same_lines = [&](const Finding& other) {
      return is_one_of(other.kind, {bulk_source_reuse, wgmma_order}) && other.second &&
             other.first.place == finding.first.place &&
             other.second->place == finding.second->place;
    };
    if (finding.kind == race && has(has_same_lines)) continue;
    if (not_started && is_one_of(finding.kind, {unfinished_copy, unfinished_async_work})) continue;
    kept.push_back(finding);
  }
  findings = std::move(kept);
}

void AsyncLog::describe(const Describer& describer, std::vector<Finding>& findings) const {
  std::vector<Finding> found;
  for (const auto& [key, folded] : mistakes_) {
    const AsyncMistake& mistake = folded.mistake;
    Finding f = describer.finding(mistake.kind, mistake.first.instruction, mistake.first.action,
                                  mistake.first.block, mistake.first.thread);
    f.first = access_of(mistake.first, describer);
    if (mistake.second) f.second = access_of(*mistake.second, describer);
    if (mistake.address) {
      const AsyncSide& toucher = mistake.second ? *mistake.second : mistake.first;
      f.memory = describer.memory(mistake.space, *mistake.address, toucher.instruction);
    }
    if (mistake.kind == FindingKind::tensor_map_in_use) {
      f.memory->element_bytes = kTensorMapBytes;
      f.memory->scalar = f.memory->object_bytes == kTensorMapBytes;
      if (!mistake.second) f.severity = Severity::warning;
    }
    if (mistake.facts.registers !=
        ProductRegisters::none) {  // found in the text: no particular thread
      f.first.thread.reset();
      f.second->thread.reset();
    }
    AsyncFacts facts = mistake.facts;
    if (mistake.mbarrier) {
      MemoryPlace place =
          describer.memory(emulator::Space::shared, *mistake.mbarrier, mistake.first.instruction);
      place.element_bytes = kMbarrierBytes;
      place.scalar = place.object_bytes == kMbarrierBytes;
      facts.barrier = to_string(place);
    }
    f.facts = std::move(facts);
    if (f.second && is_same(f.first, *f.second)) f.second.reset();  // one line says it
    f.count = folded.count;
    found.push_back(std::move(f));
  }
  drop_consequences(found);
  findings.insert(findings.end(), std::make_move_iterator(found.begin()),
                  std::make_move_iterator(found.end()));
}

}  // namespace tilescope::observe
