// From the emulator's numbers to the terms of a finding: threads, lines, places in memory.
#pragma once

#include <cstdint>
#include <string_view>

#include "emulator/events.hpp"
#include "observe/access_tag.hpp"
#include "tilescope/finding.hpp"

namespace tilescope::observe {

ThreadAction action_of(AccessVerb verb);

/// The knowledge about a launch for writing findings. Valid until the launch has ended.
class Describer {
 public:
  explicit Describer(const emulator::LaunchInfo& launch);

  /// A finding whose first side is this instruction, with the thread that ran it.
  Finding finding(FindingKind kind, emulator::InstructionId id, ThreadAction action,
                  std::uint64_t block, std::uint32_t linear_thread) const;
  FindingAccess access(emulator::InstructionId id, ThreadAction action, std::uint64_t block,
                       std::uint32_t linear_thread) const;
  /// The buffer or variable of global or shared memory that holds the address.
  MemoryPlace memory(emulator::Space space, std::uint64_t address,
                     emulator::InstructionId id) const;
  /// Memory without an object's name.
  MemoryPlace bare_memory(emulator::Space space, std::uint64_t address,
                          emulator::InstructionId id) const;
  /// Whether the variable is the dynamic shared memory of the launch.
  bool is_dynamic_shared(std::string_view variable) const;
  const emulator::LaunchInfo& launch() const { return launch_; }

 private:
  const emulator::LaunchInfo& launch_;
};

}  // namespace tilescope::observe
