#include "observe/source_place.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

namespace tilescope::observe {

bool is_toolkit_header(std::string_view path) {
  static constexpr std::array<std::string_view, 7> kFolders = {
      "/cooperative_groups/", "/cuda/std/", "/cuda/", "/cub/", "/thrust/", "/crt/", "/cccl/"};
  static constexpr std::array<std::string_view, 10> kPrefixes = {
      "cuda_",          "sm_",           "device_functions",   "device_atomic_",
      "math_functions", "vector_functi", "cooperative_groups", "common_functions",
      "mma.h",          "curand"};
  const auto holds = [&](std::string_view part) { return path.find(part) != path.npos; };
  if (holds("include") && std::any_of(kFolders.begin(), kFolders.end(), holds)) return true;
  const std::size_t slash = path.rfind('/');
  const std::string_view name = slash == path.npos ? path : path.substr(slash + 1);
  const bool header = name.ends_with(".h") || name.ends_with(".hpp");
  return header && std::any_of(kPrefixes.begin(), kPrefixes.end(),
                               [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool is_from_library(const emulator::Program& program, emulator::InstructionId id,
                     std::string_view part) {
  const auto levels = program.location(id);
  return std::any_of(levels.begin(), levels.end(), [&](const ptx::InlinedLocation& level) {
    return level.file.find(part) != level.file.npos;
  });
}

SourcePlace source_place(const emulator::Program& program, emulator::InstructionId id) {
  SourcePlace innermost;
  for (const ptx::InlinedLocation& level : program.location(id)) {
    if (level.line == 0 || level.file.empty()) continue;
    if (innermost.line == 0) innermost = {std::string(level.file), level.line};
    if (!is_toolkit_header(level.file)) return {std::string(level.file), level.line};
  }
  return innermost;
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
