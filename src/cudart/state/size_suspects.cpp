#include "cudart/state/size_suspects.hpp"

#include <cstring>

namespace tilescope::cudart {
namespace {

bool is_quarter_or_eighth(std::size_t part, std::size_t whole) {
  return part > 0 && (part * 4 == whole || part * 8 == whole);
}

/// Whether `data` looks like the result of malloc(bytes): the word before it says so. Any other
/// word there only leaves a copy unsuspected.
bool is_heap_memory_of(std::uint64_t data, std::size_t bytes) {
  constexpr std::uint64_t alignment = 16, page = 4096, flags = 7, mapped = 2;
  if (data % alignment != 0 || data % page < alignment) return false;
  std::uint64_t word = 0;
  std::memcpy(&word, reinterpret_cast<const void*>(data - sizeof word), sizeof word);
  const std::uint64_t chunk = word & ~flags;
  const std::uint64_t slack = (word & mapped) != 0 ? page + 2 * alignment : 2 * alignment;
  return chunk > bytes && chunk - bytes <= slack;
}

bool looks_wrong(const CopyTarget& target, const CopyOperation& copy) {
  if (copy.to.address != target.address || copy.slices != 1) return false;
  if (target.is_variable) return copy.row_bytes == sizeof(void*) && target.bytes > 16;
  if (copy.rows > 1) {
    return is_quarter_or_eighth(copy.row_bytes, copy.from.pitch) &&
           is_heap_memory_of(copy.from.address, copy.from.pitch * copy.rows);
  }
  return is_quarter_or_eighth(copy.row_bytes, target.bytes) &&
         is_heap_memory_of(copy.from.address, target.bytes);
}

}  // namespace

void SizeSuspects::filled(const CopyTarget& target, const CopyOperation* copy,
                          const inspect::HostCall& call) {
  State& state = targets_[target.address];
  const bool untouched =
      std::exchange(state.untouched, false) && !(target.is_variable && launched_);
  state.suspect.reset();
  if (untouched && copy != nullptr && !copy->from.on_device && looks_wrong(target, *copy)) {
    state.suspect = {target, copy->row_bytes, call};
  }
}

std::vector<SizeSuspects::Suspect> SizeSuspects::launched() {
  launched_ = true;
  std::vector<Suspect> found;
  for (auto& [address, state] : targets_) {
    state.untouched = false;
    if (state.suspect) found.push_back(*std::exchange(state.suspect, std::nullopt));
  }
  return found;
}

}  // namespace tilescope::cudart
