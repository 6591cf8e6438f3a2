#include "observe/describe.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/format.hpp"
#include "emulator/memory_map.hpp"

namespace tilescope::observe {
namespace {

std::uint32_t element_bytes(const ptx::Instruction& instruction) {
  // These move bits without a type: copies of one element, of several floats, of halves.
  if (instruction.opcode == ptx::Opcode::cp_async && instruction.operands.size() > 2) {
    const auto bytes = static_cast<std::uint32_t>(instruction.operands[2].bits);
    return bytes == 8 ? 8 : 4;
  }
  if (instruction.opcode == ptx::Opcode::ldmatrix || instruction.opcode == ptx::Opcode::stmatrix) {
    return 2;
  }
  return std::max(1u, ptx::byte_size(instruction.modifiers.type()));
}

std::string_view verb_text(AccessVerb verb) {
  switch (verb) {
    case AccessVerb::read:
      return "read";
    case AccessVerb::write:
      return "write";
    case AccessVerb::atomic:
      return "atomic operation";
  }
  return "";
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  return fmt::format("{} byte{}", format_count(bytes), bytes == 1 ? "" : "s");
}

std::string variable_name(std::string_view mangled) {
  // PTX lays all local variables of a function into one frame; their own names are gone.
  if (mangled.starts_with("__local_depot")) return "local memory";
  if (!mangled.starts_with("_Z")) return std::string(mangled);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(std::string(mangled).c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || !plain) return std::string(mangled);
  const std::string_view text = plain.get();
  // "matmul(float*)::tile": what follows the last "::" outside parentheses and angle brackets.
  int depth = 0;
  for (std::size_t i = text.size(); i-- > 1;) {
    if (text[i] == ')' || text[i] == '>') ++depth;
    if (text[i] == '(' || text[i] == '<') --depth;
    if (depth == 0 && text[i] == ':' && text[i - 1] == ':') {
      return std::string(text.substr(i + 1));
    }
  }
  return std::string(text);
}

Describer::Describer(const emulator::LaunchInfo& launch) : launch_(launch) {}

ThreadName Describer::thread(std::uint64_t block, std::uint32_t linear) const {
  const auto split = [](std::uint64_t index, const Dim3& extent) {
    return Dim3{static_cast<std::uint32_t>(index % extent.x),
                static_cast<std::uint32_t>(index / extent.x % extent.y),
                static_cast<std::uint32_t>(index / extent.x / extent.y)};
  };
  return {split(block, launch_.grid), split(linear, launch_.block)};
}

std::uint32_t Describer::bytes(emulator::InstructionId id) const {
  const ptx::Instruction& source = *launch_.program.instruction(id).source;
  if (source.opcode == ptx::Opcode::cp_async && source.operands.size() > 2) {
    return static_cast<std::uint32_t>(source.operands[2].bits);
  }
  if (source.opcode == ptx::Opcode::ldmatrix || source.opcode == ptx::Opcode::stmatrix) return 16;
  return element_bytes(source) * source.modifiers.vector;
}

std::string Describer::action(emulator::InstructionId id, AccessVerb verb) const {
  return fmt::format("{} of {}", verb_text(verb), bytes_text(bytes(id)));
}

FindingAccess Describer::access(emulator::InstructionId id, const std::string& action,
                                std::uint64_t block, std::uint32_t linear_thread) const {
  return {source_place(launch_.program, id), id, launch_.program.instruction(id).source->line,
          action, thread(block, linear_thread)};
}

std::string Describer::extent(std::uint64_t object_bytes, emulator::InstructionId id) const {
  const std::uint32_t size = element_bytes(*launch_.program.instruction(id).source);
  const std::uint64_t count = object_bytes / size;
  if (object_bytes % size != 0 || count == 0) return bytes_text(object_bytes);
  return fmt::format("{} element{} of {}", format_count(count), count == 1 ? "" : "s",
                     bytes_text(size));
}

bool Describer::is_dynamic_shared(std::string_view object) const {
  return std::any_of(launch_.shared_variables.begin(), launch_.shared_variables.end(),
                     [&](const auto& v) { return v.dynamic && v.name == object; });
}

std::string Describer::element(std::string_view object, std::int64_t offset,
                               emulator::InstructionId id) const {
  const std::string name = variable_name(object);
  const auto size =
      static_cast<std::int64_t>(element_bytes(*launch_.program.instruction(id).source));
  if (offset % size == 0) return fmt::format("{}[{}]", name, offset / size);
  return fmt::format("{} {} {} bytes", name, offset < 0 ? "-" : "+", std::abs(offset));
}

std::string Describer::address(emulator::Space space, std::uint64_t address,
                               emulator::InstructionId id) const {
  if (space == emulator::Space::shared) {
    for (const emulator::SharedVariable& variable : launch_.shared_variables) {
      if (address - variable.offset < variable.bytes) {
        if (variable.bytes == element_bytes(*launch_.program.instruction(id).source)) {
          return variable_name(variable.name);
        }
        return element(variable.name, static_cast<std::int64_t>(address - variable.offset), id);
      }
    }
    return fmt::format("byte {} of shared memory", address);
  }
  const emulator::Allocation* of = launch_.memory.find(address);
  if (of == nullptr) return fmt::format("{:#x}", address);
  if (of->kind() == emulator::AllocationKind::module_variable &&
      of->bytes() == element_bytes(*launch_.program.instruction(id).source)) {
    return variable_name(of->name());
  }
  return element(of->name(), static_cast<std::int64_t>(address - of->address()), id);
}

}  // namespace tilescope::observe
