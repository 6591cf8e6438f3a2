// Names for reports: threads, variables, accesses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "emulator/events.hpp"
#include "observe/access_tag.hpp"
#include "observe/findings.hpp"
#include "observe/race_log.hpp"

namespace tilescope::observe {

/// "tile" for the mangled name of a variable ("_ZZ6matmulE4tile"); other names as they are.
std::string variable_name(std::string_view mangled);

/// What is known of a launch when findings are written down. Until the launch has ended.
class Describer {
 public:
  explicit Describer(const emulator::LaunchInfo& launch);

  ThreadName thread(std::uint64_t block, std::uint32_t linear_thread) const;
  /// "write of 4 bytes", of the instruction with this number.
  std::string action(emulator::InstructionId id, AccessVerb verb) const;
  FindingAccess access(emulator::InstructionId id, const std::string& action, std::uint64_t block,
                       std::uint32_t linear_thread) const;
  /// "tile[17]", or "tile + 3 bytes" where the address is no multiple of the element that the
  /// instruction accesses. Global and shared memory.
  std::string address(emulator::Space space, std::uint64_t address,
                      emulator::InstructionId id) const;
  /// The same for a place that is known by name and offset.
  std::string element(std::string_view object, std::int64_t offset,
                      emulator::InstructionId id) const;
  /// Bytes per lane of a memory instruction.
  std::uint32_t bytes(emulator::InstructionId id) const;
  const emulator::LaunchInfo& launch() const { return launch_; }

 private:
  const emulator::LaunchInfo& launch_;
};

}  // namespace tilescope::observe
