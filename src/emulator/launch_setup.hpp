// The program of a launch, and its machine.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/launch.hpp"
#include "emulator/memory_map.hpp"
#include "emulator/program.hpp"

namespace tilescope::emulator {

class KernelHeap;

/// The parts of the machine that a launch needs.
struct LaunchSetup {
  const Program& program;
  MemoryMap& memory;
  Dim3 grid, block;
  std::uint32_t dynamic_shared_bytes = 0;
  std::vector<std::uint8_t> parameters;
  std::uint32_t sm_count = 1;
  std::uint64_t resident_blocks = 1;  ///< blocks that the GPU would hold at once
  std::uint64_t grid_workspace = 0;   ///< device address that cooperative groups synchronise with
  std::uint64_t grid_id = 0;
  KernelHeap* heap = nullptr;
  const LaunchOptions& options;

  Dim3 block_index(std::uint64_t linear) const {
    return {static_cast<std::uint32_t>(linear % grid.x),
            static_cast<std::uint32_t>(linear / grid.x % grid.y),
            static_cast<std::uint32_t>(linear / grid.x / grid.y)};
  }
};

}  // namespace tilescope::emulator
