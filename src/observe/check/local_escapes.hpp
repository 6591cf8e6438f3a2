// Addresses of local variables that a thread has left where others read them. Local memory has the
// same addresses in every thread, so such a pointer means another variable to each reader.
#pragma once

#include <bit>
#include <cstdint>
#include <unordered_map>

#include "emulator/events.hpp"
#include "observe/access_tag.hpp"

namespace tilescope::observe {

/// Those of one block.
class LocalEscapes {
 public:
  bool empty() const { return owners_.empty(); }
  void clear() { owners_.clear(); }

  /// The lanes store the address of a local variable of theirs.
  void add(const emulator::Access& store) {
    for_each_lane(store, [&](std::uint64_t word, std::uint32_t thread) { owners_[word] = thread; });
  }
  /// The lanes store something else.
  void overwrite(const emulator::Access& store) {
    for_each_lane(store, [&](std::uint64_t word, std::uint32_t) { owners_.erase(word); });
  }
  /// The lanes that read the address of another thread's variable.
  emulator::LaneMask foreign(const emulator::Access& load) const {
    emulator::LaneMask lanes = 0;
    for_each_lane(load, [&](std::uint64_t word, std::uint32_t thread) {
      const auto found = owners_.find(word);
      if (found != owners_.end() && found->second != thread) {
        lanes |= emulator::LaneMask{1} << thread % emulator::kWarpSize;
      }
    });
    return lanes;
  }

 private:
  template <class Visit>
  static void for_each_lane(const emulator::Access& access, Visit visit) {
    for (emulator::LaneMask m = access.mask; m != 0; m &= m - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(m));
      visit(word_at(access.space, access.addresses[lane]),
            access.warp * emulator::kWarpSize + lane);
    }
  }

  std::unordered_map<std::uint64_t, std::uint32_t> owners_;  ///< by word: a thread of the block
};

}  // namespace tilescope::observe
