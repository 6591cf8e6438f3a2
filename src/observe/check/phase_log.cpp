#include "observe/check/phase_log.hpp"

#include <algorithm>

namespace tilescope::observe {

void PhaseLog::add(const Key& key, const Example& example) {
  const auto [found, fresh] = mistakes_.try_emplace(key, example);
  if (fresh) return;
  Example& known = found->second;
  const std::uint64_t count = known.count + example.count;
  if (example.mistake.first.block < known.mistake.first.block) known = example;
  known.count = count;
}

void PhaseLog::add(const PhaseMistake& mistake) {
  const emulator::InstructionId second =
      mistake.second ? mistake.second->instruction : mistake.first.instruction;
  add({mistake.kind, mistake.facts.fault, mistake.first.instruction, second}, {mistake});
}

void PhaseLog::merge(const PhaseLog& other) {
  for (const auto& [key, example] : other.mistakes_) add(key, example);
}

bool PhaseLog::explains_early_reads() const {
  return std::any_of(mistakes_.begin(), mistakes_.end(), [](const auto& entry) {
    return entry.first.kind == FindingKind::expected_bytes ||
           entry.first.kind == FindingKind::arrival_count ||
           entry.first.kind == FindingKind::phase_parity;
  });
}

void PhaseLog::describe(const Describer& describer, std::vector<Finding>& findings) const {
  for (const auto& [key, example] : mistakes_) {
    const PhaseMistake& mistake = example.mistake;
    Finding f = describer.finding(key.kind, key.first, mistake.first_action, mistake.first.block,
                                  mistake.first.thread);
    f.severity = mistake.severity;
    f.count = example.count;
    f.memory = describer.memory(emulator::Space::shared, mistake.offset, key.first);
    PhaseFacts facts = mistake.facts;
    facts.barrier = to_string(*f.memory);
    f.facts = std::move(facts);
    if (mistake.second) {
      f.second = describer.access(key.second, mistake.second_action, mistake.second->block,
                                  mistake.second->thread);
      // A compiler may make several instructions of one line; to the reader they are the same.
      if (f.second->place.line != 0 && f.second->place == f.first.place) f.second.reset();
    }
    findings.push_back(std::move(f));
  }
}

}  // namespace tilescope::observe
