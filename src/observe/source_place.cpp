#include "observe/source_place.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace tilescope::observe {

bool is_toolkit_header(std::string_view path) {
  static constexpr std::array<std::string_view, 7> kFolders = {
      "/cooperative_groups/", "/cuda/std/", "/cuda/", "/cub/", "/thrust/", "/crt/", "/cccl/"};
  static constexpr std::array<std::string_view, 10> kPrefixes = {
      "cuda_",          "sm_",           "device_functions",   "device_atomic_",
      "math_functions", "vector_functi", "cooperative_groups", "common_functions",
      "mma.h",          "curand"};
  for (const std::string_view folder : kFolders) {
    if (path.find(folder) != std::string_view::npos && path.find("include") != path.npos) {
      return true;
    }
  }
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
  std::vector<SourcePlace> of(count);
  for (std::uint32_t id = 0; id < count; ++id) of[id] = place_of(program, id);
  places_ = of;
  std::sort(places_.begin(), places_.end());
  places_.erase(std::unique(places_.begin(), places_.end()), places_.end());
  index_.resize(count);
  for (std::uint32_t id = 0; id < count; ++id) {
    index_[id] = static_cast<std::uint32_t>(
        std::lower_bound(places_.begin(), places_.end(), of[id]) - places_.begin());
  }
}

}  // namespace tilescope::observe
