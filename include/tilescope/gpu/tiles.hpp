// Tile sizes of a matrix product, compared before anything runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tilescope/device_properties.hpp>
#include <tilescope/gpu/occupancy.hpp>
#include <tilescope/matrix.hpp>
#include <vector>

namespace tilescope::gpu {

/// A block computes rows x columns elements of C, `depth` steps of k a phase, with one float tile
/// each of A and B in shared memory. A thread computes thread_rows x thread_columns of them.
struct TileShape {
  int rows = 0, columns = 0, depth = 0;
  int thread_rows = 1, thread_columns = 1;

  static TileShape square(int width) { return {width, width, width}; }
  bool is_square() const {
    return rows == columns && rows == depth && thread_rows == 1 && thread_columns == 1;
  }
  std::int64_t threads() const {
    return std::int64_t{rows} * columns / (std::int64_t{thread_rows} * thread_columns);
  }
  std::int64_t shared_bytes() const {
    return std::int64_t{4} * depth * (std::int64_t{rows} + columns);
  }
  /// "16", "128x128x8/8x8".
  std::string text() const;
};

struct TilePlan {
  TileShape tile;
  BlockNeeds needs;
  Occupancy occupancy;
  std::int64_t loads_per_phase = 0;       ///< elements that a block reads from global memory
  std::int64_t operations_per_phase = 0;  ///< multiplications and additions of a block
  double operations_per_load = 0.0;
  std::int64_t pending_loads = 0;  ///< of all resident blocks of an SM, one phase each
  /// The same if only shared memory limited the blocks (as lectures count).
  std::int64_t pending_loads_by_shared_memory = 0;
  double intensity = 0.0;  ///< FLOP per byte of global traffic

  // With a problem; 0 without one.
  std::int64_t blocks = 0, phases = 0;
  double traffic_bytes = 0.0;     ///< loads of all tiles, padding included, and C written once
  double useful_share = 0.0;      ///< useful share of the operations; the rest is padding
  double estimated_cycles = 0.0;  ///< see estimate_cycles in tiles.cpp

  bool possible() const { return occupancy.blocks_per_sm > 0; }
};

/// The plan of one tile. `registers_per_thread` 0: registers are not counted. Throws Error(usage)
/// for an invalid shape.
TilePlan plan_tile(const TileShape& tile, const DeviceProperties& device,
                   const AllocationUnits& units, std::int64_t registers_per_thread = 0,
                   const std::optional<MatmulShape>& problem = std::nullopt);

/// The index of the best of `plans`: the one estimated to finish first (with a problem), or the
/// widest that keeps half of the SM's threads resident (without). Nothing if none is possible.
std::optional<std::size_t> best_plan(const std::vector<TilePlan>& plans,
                                     const DeviceProperties& device);

/// The widths of the tile kernels.
inline constexpr int tile_widths[] = {2, 4, 8, 16, 32};

}  // namespace tilescope::gpu
