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

bool is_known(const InlinedLocation& level) {
  return level.line != 0 && !level.file.empty();
}

/// The level of own_line(), or the chain's end.
std::size_t own_level(const std::vector<InlinedLocation>& chain) {
  std::size_t innermost = chain.size();
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (!is_known(chain[i])) continue;
    if (!is_toolkit_header(chain[i].file)) return i;
    innermost = std::min(innermost, i);
  }
  return innermost;
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
  const std::vector<InlinedLocation> chain = inline_chain(module, instruction);
  const std::size_t level = own_level(chain);
  return level < chain.size() ? chain[level] : InlinedLocation();
}

std::vector<InlinedLocation> calls_of_own_line(const Module& module,
                                               const Instruction& instruction) {
  std::vector<InlinedLocation> calls = inline_chain(module, instruction);
  calls.erase(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(
                                                 std::min(own_level(calls) + 1, calls.size())));
  std::erase_if(calls, [](const InlinedLocation& call) {
    return !is_known(call) || is_toolkit_header(call.file);
  });
  return calls;
}

}  // namespace tilescope::ptx
