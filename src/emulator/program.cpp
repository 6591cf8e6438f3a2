#include "emulator/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "emulator/address_space.hpp"

namespace tilescope::emulator {

std::string Program::place(InstructionId id) const {
  const std::vector<ptx::InlinedLocation> chain = location(id);
  for (const ptx::InlinedLocation& level : chain) {
    if (level.line == 0 || level.file.empty()) continue;
    return fmt::format("{}:{}", std::filesystem::path(level.file).filename().string(), level.line);
  }
  return fmt::format("line {} of the PTX", instructions_[id].source->line);
}

std::uint32_t Program::parameter_bytes() const {
  return static_cast<std::uint32_t>(functions_.front().source->parameter_bytes);
}

std::uint32_t Program::function_at(std::uint64_t address) const {
  const std::uint64_t index = (address - kFunctionBase) / kFunctionStride;
  if (address < kFunctionBase || (address - kFunctionBase) % kFunctionStride != 0 ||
      index >= by_module_index_.size()) {
    return kNone;
  }
  return by_module_index_[index];
}

std::string_view to_string(FaultKind kind) {
  switch (kind) {
    case FaultKind::out_of_bounds:
      return "out of bounds";
    case FaultKind::misaligned:
      return "misaligned";
    case FaultKind::null_pointer:
      return "null pointer";
    case FaultKind::freed:
      return "freed memory";
    case FaultKind::host_memory:
      return "memory of the host";
    case FaultKind::wrong_space:
      return "wrong state space";
    case FaultKind::read_only:
      return "store to read-only memory";
    case FaultKind::absent_lanes:
      return "absent lanes";
    case FaultKind::not_a_member:
      return "lane not in the member mask";
    case FaultKind::bad_barrier:
      return "bad barrier";
    case FaultKind::bad_call:
      return "call to no function";
    case FaultKind::integer_fault:
      return "operand out of range";
  }
  return "";
}

}  // namespace tilescope::emulator
