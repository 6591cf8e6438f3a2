// The bytes that a warp access touches, as few intervals as possible.
//
// Kernels repeat themselves: an instruction's lanes nearly always lie as they did the last time
// (Access::pattern shows it), and the earlier result is a list of intervals relative to the first
// lane.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/events.hpp"

namespace tilescope::observe {

struct Run {
  std::int64_t offset;  ///< from the address of the lowest lane in the mask
  std::uint32_t bytes;
};

inline std::uint64_t base_address(const emulator::Access& access) {
  return access.addresses[__builtin_ctz(access.mask)];
}

/// Disjoint intervals in ascending order; neighbours are one.
void find_runs(const emulator::Access& access, std::vector<Run>& runs);

}  // namespace tilescope::observe
