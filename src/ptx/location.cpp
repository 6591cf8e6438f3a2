#include "ptx/location.hpp"

namespace tilescope::ptx {
namespace {

/// A compiler inlines a few dozen levels; a text with an endless chain of places is cut here.
constexpr std::size_t deepest_inlining = 256;

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

}  // namespace tilescope::ptx
