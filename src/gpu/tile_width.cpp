#include "gpu/tile_width.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tilescope/error.hpp>

namespace tilescope::gpu {

std::size_t tile_shared_bytes(int width) {
  const auto side = static_cast<std::size_t>(width);
  return 2 * side * side * sizeof(float);
}

int tile_blocks_per_sm(int width, const DeviceProperties& device) {
  const int threads = width * width;
  if (threads > device.max_threads_per_block) return 0;
  if (tile_shared_bytes(width) > device.shared_bytes_per_block_optin) return 0;
  const std::size_t shared = tile_shared_bytes(width) + device.reserved_shared_bytes_per_block;
  return std::min({device.max_threads_per_sm / threads, device.max_blocks_per_sm,
                   static_cast<int>(device.shared_bytes_per_sm / shared)});
}

int best_tile_width(const DeviceProperties& device) {
  int best = 0;
  bool best_is_full = false;
  for (const int width : {2, 4, 8, 16, 32}) {
    const int blocks = tile_blocks_per_sm(width, device);
    if (blocks == 0) continue;
    const bool full = 2 * blocks * width * width >= device.max_threads_per_sm;
    // Wider means more reuse; but not at the price of an SM that is mostly idle.
    if (full || !best_is_full) {
      best = width;
      best_is_full = full;
    }
  }
  if (best == 0) {
    throw Error(ErrorKind::usage,
                fmt::format("{} has no room for even a 2 x 2 tile kernel", device.name));
  }
  return best;
}

}  // namespace tilescope::gpu
