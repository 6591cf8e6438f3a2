#include "observe/describe.hpp"

#include <algorithm>

#include "base/symbol_names.hpp"
#include "emulator/memory_map.hpp"
#include "observe/source_place.hpp"

namespace tilescope::observe {
namespace {

/// Whether the image, not the instruction, says the size of an element: in textures, which name the
/// types of results and of coordinates, and in formatted surfaces.
bool reads_texels(const ptx::Instruction& instruction) {
  const ptx::Modifiers& m = instruction.modifiers;
  const bool texture = m.geometry != ptx::Geometry::none && m.type_count == 2;
  return texture || m.has(ptx::Flag::surface_pixels);
}

std::uint32_t element_bytes(const ptx::Instruction& instruction) {
  if (reads_texels(instruction)) return 1;
  // These move bits without a type: copies of one element, of several floats, of halves.
  if (instruction.modifiers.has(ptx::Flag::tensormap_generic)) return 4;  // of 128, each lane
  const ptx::Effect effect = ptx::info(instruction.opcode).effect;
  if (effect == ptx::Effect::copy) return instruction.operands[2].bits == 8 ? 8 : 4;
  if (effect == ptx::Effect::load_matrix || effect == ptx::Effect::store_matrix) return 2;
  return std::max(1u, ptx::byte_size(instruction.modifiers.type()));
}

/// Bytes per lane of a memory instruction; 0 if it does not say.
std::uint32_t access_bytes(const ptx::Instruction& instruction) {
  if (reads_texels(instruction)) return 0;
  const ptx::Effect effect = ptx::info(instruction.opcode).effect;
  if (effect == ptx::Effect::copy) return static_cast<std::uint32_t>(instruction.operands[2].bits);
  if (effect == ptx::Effect::load_matrix || effect == ptx::Effect::store_matrix) return 16;
  return element_bytes(instruction) * instruction.modifiers.vector;
}

/// Index `index` of an array with these extents, x fastest.
Dim3 split(std::uint64_t index, const Dim3& extent) {
  return {static_cast<std::uint32_t>(index % extent.x),
          static_cast<std::uint32_t>(index / extent.x % extent.y),
          static_cast<std::uint32_t>(index / extent.x / extent.y)};
}

}  // namespace

ThreadAction action_of(AccessVerb verb) {
  return verb == AccessVerb::read    ? ThreadAction::read
         : verb == AccessVerb::write ? ThreadAction::write
                                     : ThreadAction::atomic;
}

Describer::Describer(const emulator::LaunchInfo& launch) : launch_(launch) {}

Finding Describer::finding(FindingKind kind, emulator::InstructionId id, ThreadAction action,
                           std::uint64_t block, std::uint32_t linear_thread) const {
  Finding f;
  f.kind = kind;
  f.kernel = function_name(std::string(launch_.kernel));
  f.first = access(id, action, block, linear_thread);
  return f;
}

FindingAccess Describer::access(emulator::InstructionId id, ThreadAction action,
                                std::uint64_t block, std::uint32_t linear_thread) const {
  const ptx::Instruction& instruction = *launch_.program.instruction(id).source;
  const bool memory = action == ThreadAction::read || action == ThreadAction::write ||
                      action == ThreadAction::atomic;
  return {source_place(launch_.program, id),
          instruction.line,
          action,
          memory ? access_bytes(instruction) : 0,
          ThreadName{split(block, launch_.grid), split(linear_thread, launch_.block)},
          places_of_calls(launch_.program, id)};
}

MemoryPlace Describer::bare_memory(emulator::Space space, std::uint64_t address,
                                   emulator::InstructionId id) const {
  MemoryPlace place;
  place.space = space;
  place.address = address;
  place.offset = static_cast<std::int64_t>(address);
  place.element_bytes = element_bytes(*launch_.program.instruction(id).source);
  return place;
}

MemoryPlace Describer::memory(emulator::Space space, std::uint64_t address,
                              emulator::InstructionId id) const {
  MemoryPlace place = bare_memory(space, address, id);
  const auto within = [&](std::string_view name, std::uint64_t start, std::uint64_t bytes,
                          bool variable) {
    place.object = variable_name(name);
    place.object_bytes = bytes;
    place.offset = static_cast<std::int64_t>(address - start);
    place.scalar = variable && bytes == place.element_bytes;
  };
  if (space == emulator::Space::shared) {
    const auto& variables = launch_.shared_variables;
    const auto found = std::find_if(
        variables.begin(), variables.end(),
        [&](const emulator::SharedVariable& v) { return address - v.offset < v.bytes; });
    if (found != variables.end()) within(found->name, found->offset, found->bytes, true);
  } else if (const emulator::Allocation* in = launch_.memory.find(address)) {
    within(in->name(), in->address(), in->bytes(),
           in->kind() == emulator::AllocationKind::module_variable);
  }
  return place;
}

bool Describer::is_dynamic_shared(std::string_view variable) const {
  return std::any_of(launch_.shared_variables.begin(), launch_.shared_variables.end(),
                     [&](const auto& v) { return v.dynamic && v.name == variable; });
}

}  // namespace tilescope::observe
