#include "observe/source_place.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>

namespace tilescope::observe {

bool is_from_library(const emulator::Program& program, emulator::InstructionId id,
                     std::string_view part) {
  const auto levels = program.location(id);
  return std::any_of(levels.begin(), levels.end(), [&](const ptx::InlinedLocation& level) {
    return level.file.find(part) != level.file.npos;
  });
}

SourcePlace source_place(const emulator::Program& program, emulator::InstructionId id) {
  const ptx::InlinedLocation line =
      ptx::own_line(program.module(), *program.instruction(id).source);
  return line.line == 0 ? SourcePlace{} : SourcePlace{std::string(line.file), line.line};
}

std::vector<SourcePlace> places_of_calls(const emulator::Program& program,
                                         emulator::InstructionId id) {
  std::vector<SourcePlace> places;
  for (const ptx::InlinedLocation& call :
       ptx::calls_of_own_line(program.module(), *program.instruction(id).source)) {
    places.push_back({std::string(call.file), call.line});
  }
  return places;
}

SourcePlace counted_place(const emulator::Program& program, emulator::InstructionId id) {
  SourcePlace place = source_place(program, id);
  if (place.line != 0) return place;
  const emulator::InstructionInfo& info = program.instruction(id);
  // The first instruction with a line fetches the parameters, which is the declaration.
  const ptx::Module& module = program.module();
  for (const ptx::Instruction& in : program.functions()[info.function].source->instructions) {
    if (in.location == ptx::no_index) continue;
    const ptx::Location& at = module.locations[in.location];
    const auto file = module.files.find(at.file);
    if (at.line == 0 || at.inlined_at != ptx::no_index || file == module.files.end()) continue;
    return {file->second, at.line};
  }
  return {"", info.source->line};
}

PlaceTable::PlaceTable(const emulator::Program& program, PlaceOf place_of) {
  const auto count = static_cast<std::uint32_t>(program.instructions().size());
  // Neighbours mostly share an entry of the line table. (Without one each has a line of its own.)
  const auto shares = [&](const emulator::InstructionInfo& a, const emulator::InstructionInfo& b) {
    return a.function == b.function && a.source->location == b.source->location &&
           a.source->location != ptx::no_index;
  };
  std::vector<SourcePlace> found;
  index_.resize(count);  // of the place in `found`
  for (std::uint32_t id = 0; id < count; ++id) {
    const bool known = id != 0 && !found.back().file.empty() &&
                       shares(program.instruction(id - 1), program.instruction(id));
    if (!known) found.push_back(place_of(program, id));
    index_[id] = static_cast<std::uint32_t>(found.size() - 1);
  }
  std::vector<std::uint32_t> order(found.size()), sorted(found.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return found[a] < found[b]; });
  for (const std::uint32_t i : order) {
    if (places_.empty() || places_.back() != found[i]) places_.push_back(std::move(found[i]));
    sorted[i] = static_cast<std::uint32_t>(places_.size() - 1);
  }
  for (std::uint32_t& index : index_) index = sorted[index];
}

}  // namespace tilescope::observe
