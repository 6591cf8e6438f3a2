// How many blocks of a kernel run on one SM at once, and what limits them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tilescope/device_properties.hpp>
#include <vector>

namespace tilescope::gpu {

/// The portions in which an SM allocates its registers and shared memory.
struct AllocationUnits {
  int register_unit = 1;                   ///< registers are rounded up to multiples of this
  bool registers_for_whole_block = false;  ///< rounded once for the block (1.x), else for each warp
  int warp_unit = 1;                       ///< a block's warps are rounded up to this for registers
  int sub_partitions = 1;                  ///< parts of the register file; a warp lives in one
  int max_registers_per_thread = 255;
  std::size_t shared_unit = 1;  ///< bytes; shared memory is rounded up to multiples of this
};

/// The units of a compute capability, from NVIDIA's occupancy calculator (the spreadsheet for 1.x
/// and 2.x, cuda_occupancy.h from 3.0 on). 0.0, a machine in a textbook: all units are 1. Throws
/// Error(usage) for a capability that neither knows.
AllocationUnits allocation_units(int major, int minor);

/// The resources of one block.
struct BlockNeeds {
  std::int64_t threads = 0;
  std::int64_t registers_per_thread = 0;  ///< 0: registers are not counted
  std::int64_t shared_bytes = 0;          ///< static and dynamic together
};

enum class Limiter { threads, blocks, registers, shared_memory };
/// "threads", "blocks", "registers", "shared_memory".
std::string_view name_of(Limiter limiter);

/// A limit that does not apply, because nothing of the resource is used.
inline constexpr int unlimited = -1;

struct Occupancy {
  int blocks_per_sm = 0;   ///< 0: not even one fits; `impossible` says why
  int threads_per_sm = 0;  ///< blocks * threads
  int warps_per_block = 0;
  int warps_per_sm = 0;
  int max_warps_per_sm = 0;
  /// The resources that allow the fewest blocks; several when they allow equally few.
  std::vector<Limiter> limiters;
  /// Blocks that each resource alone would allow.
  int by_threads = 0, by_blocks = 0, by_registers = unlimited, by_shared_memory = unlimited;
  std::int64_t registers_per_block = 0;     ///< as allocated, after rounding
  std::int64_t shared_bytes_per_block = 0;  ///< as allocated: with the reserved part, rounded
  std::string impossible;                   ///< one line, empty when at least one block fits

  /// Resident warps over the most there can be, 0 to 1.
  double share() const {
    return max_warps_per_sm == 0 ? 0.0 : double(warps_per_sm) / double(max_warps_per_sm);
  }
};

/// Throws Error(usage) for impossible needs: no threads, negative numbers. Needs beyond the
/// device's limits give 0 blocks and the reason.
Occupancy occupancy(const BlockNeeds& needs, const DeviceProperties& device,
                    const AllocationUnits& units);

/// One point of a curve "impact of varying ...".
struct OccupancyPoint {
  std::int64_t value = 0;
  int warps_per_sm = 0;
};
/// The resident warps for every block size (in steps of a warp), register count and amount of
/// shared memory (in `steps` equal steps up to the most that a block may have); the other needs
/// stay as in `needs`.
std::vector<OccupancyPoint> vary_threads(const BlockNeeds& needs, const DeviceProperties& device,
                                         const AllocationUnits& units);
std::vector<OccupancyPoint> vary_registers(const BlockNeeds& needs, const DeviceProperties& device,
                                           const AllocationUnits& units);
std::vector<OccupancyPoint> vary_shared_memory(const BlockNeeds& needs,
                                               const DeviceProperties& device,
                                               const AllocationUnits& units, int steps = 64);

/// The most registers a thread may use while all of the SM's threads stay resident.
int registers_for_full_occupancy(const DeviceProperties& device, const AllocationUnits& units);
/// Shared memory of an SM over its threads, in bytes, rounded down.
std::int64_t shared_bytes_per_thread_at_full_occupancy(const DeviceProperties& device);

}  // namespace tilescope::gpu
