// The tile width that suits a device and a problem: the rule of the run-time tile choice.
#pragma once

#include <cstddef>
#include <optional>
#include <tilescope/device_properties.hpp>
#include <tilescope/matrix.hpp>

namespace tilescope::gpu {

/// Shared memory of a width x width block that holds one float tile each of A and B, in bytes.
std::size_t tile_shared_bytes(int width);

/// Blocks of width x width threads that run on one SM at once, by threads, blocks and shared
/// memory. 0 when even one does not fit.
int tile_blocks_per_sm(int width, const DeviceProperties& device);

/// The best of 2, 4, 8, 16 and 32: for a problem the one that the planner (tiles.hpp) estimates to
/// finish first; without one, the widest that keeps at least half of the SM's threads resident, or
/// else the widest that fits. Throws Error(usage) if not even 2 fits.
int best_tile_width(const DeviceProperties& device,
                    const std::optional<MatmulShape>& problem = std::nullopt);

}  // namespace tilescope::gpu
