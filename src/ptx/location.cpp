#include "ptx/location.hpp"

#include <algorithm>
#include <array>

namespace tilescope::ptx {
namespace {

/// A compiler inlines a few dozen levels; a text with an endless chain of places is cut here.
constexpr std::size_t deepest_inlining = 256;

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

}  // namespace

std::vector<InlinedLocation> inline_chain(const Module& module, const Instruction& instruction) {
  std::vector<InlinedLocation> chain;
  for (std::uint32_t index = instruction.location;
       index != no_index && chain.size() < deepest_inlining;
       index = module.locations[index].inlined_at) {
    const Location& location = module.locations[index];
    const auto file = module.files.find(location.file);
    chain.push_back({file == module.files.end() ? std::string_view() : file->second, location.line,
                     location.column, location.function});
  }
  return chain;
}

InlinedLocation own_line(const Module& module, const Instruction& instruction) {
  InlinedLocation innermost;
  for (const InlinedLocation& level : inline_chain(module, instruction)) {
    if (level.line == 0 || level.file.empty()) continue;
    if (innermost.line == 0) innermost = level;
    if (!is_toolkit_header(level.file)) return level;
  }
  return innermost;
}

}  // namespace tilescope::ptx
