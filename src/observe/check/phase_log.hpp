// Mistakes with mbarriers, from a block's run to findings.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "emulator/events.hpp"
#include "observe/check/mistake_fold.hpp"
#include "observe/check/thread_place.hpp"
#include "observe/describe.hpp"

namespace tilescope::observe {

struct PhaseMistake {
  FindingKind kind = FindingKind::endless_wait;
  Severity severity = Severity::error;
  PhaseFacts facts;          ///< without the barrier's name
  std::uint32_t offset = 0;  ///< of the barrier in shared memory
  ThreadPlace first;
  ThreadAction first_action = ThreadAction::none;
  std::optional<ThreadPlace> second = {};
  ThreadAction second_action = ThreadAction::none;
};

/// Mistakes by kind and instructions.
class PhaseLog {
 public:
  void add(const PhaseMistake& mistake);
  void merge(const PhaseLog& other) { mistakes_.merge(other.mistakes_); }
  void describe(const Describer& describer, std::vector<Finding>& findings) const;

 private:
  struct Key {
    FindingKind kind;
    PhaseFault fault;
    emulator::InstructionId first, second;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  MistakeFold<Key, PhaseMistake> mistakes_;
};

}  // namespace tilescope::observe
