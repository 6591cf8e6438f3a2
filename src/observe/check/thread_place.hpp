// An instruction of a thread, as the logs of mistakes keep it.
#pragma once

#include <cstdint>

#include "emulator/events.hpp"

namespace tilescope::observe {

struct ThreadPlace {
  emulator::InstructionId instruction = 0;
  std::uint64_t block = 0;  ///< linear
  std::uint32_t thread = 0;
};

/// The thread of a block of the same cluster as `block`.
inline ThreadPlace thread_place(const emulator::LaunchInfo& launch,
                                const emulator::BlockInfo& block,
                                const emulator::BulkOrigin& origin) {
  const Dim3& grid = launch.grid;
  const Dim3& cluster = launch.cluster;
  const Dim3& at = block.index;
  const std::uint64_t x = at.x / cluster.x * cluster.x + origin.rank % cluster.x;
  const std::uint64_t y = at.y / cluster.y * cluster.y + origin.rank / cluster.x % cluster.y;
  const std::uint64_t z = at.z / cluster.z * cluster.z + origin.rank / cluster.x / cluster.y;
  return {origin.instruction, x + grid.x * (y + grid.y * z),
          origin.warp * emulator::kWarpSize + static_cast<std::uint32_t>(origin.lane)};
}

}  // namespace tilescope::observe
