#include "emulator/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "emulator/address_space.hpp"

namespace tilescope::emulator {

std::string Program::place(InstructionId id) const {
  const ptx::Instruction& instruction = *instructions_[id].source;
  const ptx::InlinedLocation line = ptx::own_line(*module_, instruction);
  if (line.line == 0) return fmt::format("line {} of the PTX", instruction.line);
  return fmt::format("{}:{}", std::filesystem::path(line.file).filename().string(), line.line);
}

std::uint32_t Program::parameter_bytes() const {
  return static_cast<std::uint32_t>(functions_.front().source->parameter_bytes);
}

int Program::most_threads_per_block() const {
  const auto& bound = functions_.front().source->bounds.maxntid;
  const std::uint64_t threads =
      std::uint64_t{bound[0]} * std::max(bound[1], 1U) * std::max(bound[2], 1U);
  return static_cast<int>(std::min<std::uint64_t>(threads, std::numeric_limits<int>::max()));
}

std::uint32_t Program::function_at(std::uint64_t address) const {
  const std::uint64_t index = (address - kFunctionBase) / kFunctionStride;
  if (address < kFunctionBase || (address - kFunctionBase) % kFunctionStride != 0 ||
      index >= by_module_index_.size()) {
    return kNone;
  }
  return by_module_index_[index];
}

}  // namespace tilescope::emulator
