// Which tile width suits a device: the rule that the run-time tile choice calls.
#pragma once

#include <cstddef>
#include <tilescope/device_properties.hpp>

namespace tilescope::gpu {

/// Shared memory of a width x width block that holds one float tile each of A and B, in bytes.
std::size_t tile_shared_bytes(int width);

/// Blocks of width x width threads that run on one SM at once, by threads, blocks and shared
/// memory. 0 when even one does not fit.
int tile_blocks_per_sm(int width, const DeviceProperties& device);

/// The widest of 2, 4, 8, 16 and 32, for a tile kernel's operations per load equal its width, among
/// those that keep at least half of the SM's threads resident; if none does, the widest that fits.
/// Throws Error(usage) if not even 2 fits.
int best_tile_width(const DeviceProperties& device);

}  // namespace tilescope::gpu
