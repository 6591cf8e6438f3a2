#include "gpu/tile_width.hpp"

#include <tilescope/gpu/tiles.hpp>

#include "base/errors.hpp"

namespace tilescope::gpu {

std::size_t tile_shared_bytes(int width) {
  return static_cast<std::size_t>(TileShape::square(width).shared_bytes());
}

int tile_blocks_per_sm(int width, const DeviceProperties& device) {
  const AllocationUnits units = allocation_units(device.compute_major, device.compute_minor);
  return plan_tile(TileShape::square(width), device, units).occupancy.blocks_per_sm;
}

int best_tile_width(const DeviceProperties& device, const std::optional<MatmulShape>& problem) {
  const AllocationUnits units = allocation_units(device.compute_major, device.compute_minor);
  std::vector<TilePlan> plans;
  for (const int width : tile_widths) {
    plans.push_back(plan_tile(TileShape::square(width), device, units, 0, problem));
  }
  const std::optional<std::size_t> best = best_plan(plans, device);
  if (!best) {
    throw usage_error("{} has no room for even a 2 x 2 tile kernel", device.name);
  }
  return plans[*best].tile.rows;
}

}  // namespace tilescope::gpu
