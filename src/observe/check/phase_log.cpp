#include "observe/check/phase_log.hpp"

namespace tilescope::observe {

void PhaseLog::add(const PhaseMistake& mistake) {
  const emulator::InstructionId second =
      mistake.second ? mistake.second->instruction : mistake.first.instruction;
  mistakes_.add({mistake.kind, mistake.facts.fault, mistake.first.instruction, second}, mistake);
}

void PhaseLog::describe(const Describer& describer, std::vector<Finding>& findings) const {
  for (const auto& [key, folded] : mistakes_) {
    const PhaseMistake& mistake = folded.mistake;
    Finding f = describer.finding(key.kind, key.first, mistake.first_action, mistake.first.block,
                                  mistake.first.thread);
    f.severity = mistake.severity;
    f.count = folded.count;
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
