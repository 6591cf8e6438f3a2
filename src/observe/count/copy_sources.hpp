// The global sides of copies to shared memory (cp.async). Their sectors may depend on both sides.
#pragma once

#include <array>
#include <vector>

#include "emulator/access_sum.hpp"
#include "emulator/events.hpp"
#include "emulator/program.hpp"
#include "observe/count/pattern_slot.hpp"

namespace tilescope::observe {

class CopySources {
 public:
  explicit CopySources(const emulator::Program& program) : program_(program) {}

  /// The shared side comes next: only both together tell the sectors. Lanes that read fewer bytes
  /// than others have an event of their own, but are of the same request.
  void keep(const emulator::Access& from);
  /// Counts what was kept, given the shared side of the same copy.
  void count(const emulator::Access& to);
  /// Counts copies that come added up.
  void add(const emulator::AccessSum& sum);
  void flush();
  /// By instruction; empty without any copy.
  std::vector<PatternSlot>& slots() { return slots_; }

 private:
  PatternSlot& slot_of(emulator::InstructionId id);
  bool goes_past_l1(emulator::InstructionId copy) const;
  void learn(const emulator::Access& from, const emulator::Access& to, PatternCost& cost) const;

  const emulator::Program& program_;
  std::vector<PatternSlot> slots_;
  emulator::Access source_{};  ///< its shared side is to come; no lanes: there is none
  std::array<std::uint64_t, emulator::kWarpSize> addresses_{};
};

}  // namespace tilescope::observe
