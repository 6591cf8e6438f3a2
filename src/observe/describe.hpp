// Names for reports: threads, variables, accesses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "emulator/events.hpp"
#include "observe/access_tag.hpp"
#include "observe/findings.hpp"

namespace tilescope::observe {

/// "tile" for the mangled name of a variable ("_ZZ6matmulE4tile"); "local memory" for the
/// compiler's own name of a thread's stack frame; other names as they are.
std::string variable_name(std::string_view mangled);

/// "1,024 bytes"
std::string bytes_text(std::uint64_t bytes);

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
  /// "256 elements of 4 bytes", for an object that the instruction accesses.
  std::string extent(std::uint64_t object_bytes, emulator::InstructionId id) const;
  /// Is the address in the dynamic shared memory of the launch?
  bool is_dynamic_shared(std::string_view object) const;
  const emulator::LaunchInfo& launch() const { return launch_; }

 private:
  const emulator::LaunchInfo& launch_;
};

}  // namespace tilescope::observe
