// The program of a launch, and its machine.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/launch.hpp"
#include "emulator/memory_map.hpp"
#include "emulator/program.hpp"
#include "emulator/texture_table.hpp"

namespace tilescope::emulator {

class DeviceRuntime;
class KernelHeap;

/// The parts of the machine that a launch needs.
struct LaunchSetup {
  const Program& program;
  MemoryMap& memory;
  const TextureTable& textures;
  Dim3 grid, block;
  Dim3 cluster;                   ///< blocks; the grid is a multiple of it
  bool explicit_cluster = false;  ///< the kernel or the launch asked for clusters
  std::uint32_t dynamic_shared_bytes = 0;
  std::vector<std::uint8_t> parameters;
  std::uint32_t sm_count = 1;
  std::uint64_t resident_blocks = 1;  ///< blocks that the GPU would hold at once
  std::uint64_t grid_workspace = 0;   ///< device address that cooperative groups synchronise with
  std::uint64_t grid_id = 0;
  KernelHeap* heap = nullptr;
  DeviceRuntime* device_runtime = nullptr;  ///< for programs that use it
  const LaunchOptions& options;

  Dim3 block_index(std::uint64_t linear) const {
    return {static_cast<std::uint32_t>(linear % grid.x),
            static_cast<std::uint32_t>(linear / grid.x % grid.y),
            static_cast<std::uint32_t>(linear / grid.x / grid.y)};
  }
  /// The index of the block behind this one in linear order.
  /// The index of a block becomes that of the next one.
  void advance(Dim3& index) const {
    if (++index.x < grid.x) return;
    index.x = 0;
    if (++index.y < grid.y) return;
    index.y = 0;
    ++index.z;
  }
  /// The linear number of a block by its cluster's number and its rank there.
  std::uint64_t block_of(std::uint64_t cluster_number, std::uint32_t rank) const {
    const std::uint64_t across = grid.x / cluster.x, down = grid.y / cluster.y;
    const std::uint64_t x = cluster_number % across * cluster.x + rank % cluster.x;
    const std::uint64_t y =
        cluster_number / across % down * cluster.y + rank / cluster.x % cluster.y;
    const std::uint64_t z =
        cluster_number / across / down * cluster.z + rank / cluster.x / cluster.y;
    return x + grid.x * (y + std::uint64_t{grid.y} * z);
  }
};

}  // namespace tilescope::emulator
