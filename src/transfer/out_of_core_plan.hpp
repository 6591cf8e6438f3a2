// How a product that does not fit the device is cut into tiles, and what the caller may ask for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <tilescope/matrix.hpp>
#include <tilescope/types.hpp>

namespace tilescope::transfer {

/// The division of a product. Each tile of C is computed once, from panels of A (tile.m x tile.k)
/// and B (tile.k x tile.n) whose steps along k add up in order.
struct OutOfCorePlan {
  MatmulShape shape;  ///< of the whole product
  MatmulShape tile;   ///< multiples of the kernel's granularity
  std::int64_t tiles_down = 0, tiles_across = 0, steps = 0;
  std::size_t device_bytes = 0;  ///< all buffers of the three
  double bytes_to_device = 0.0;  ///< A once, B once per row of tiles (both per step if steps > 1)

  std::int64_t tiles() const { return tiles_down * tiles_across; }
};

/// Bytes of a tile and its panels, with `buffers` of each.
double device_bytes_of(const MatmulShape& tile, DataType element, int buffers);

/// `value` rounded up to the next multiple of `step`.
std::int64_t rounded_up(std::int64_t value, std::int64_t step);

/// The plan whose memory stays within `limit` bytes, with `buffers` of each matrix (2 to load the
/// next while one is used) and the fewest tiles, as equal as possible; their extents are multiples
/// of `granularity`. k is cut only if not even the smallest tile fits with all of it. Throws
/// Error(usage) with the bytes needed if the smallest possible tile does not fit.
OutOfCorePlan plan_out_of_core(const MatmulShape& shape, const MatmulShape& granularity,
                               DataType element, std::size_t limit, int buffers);

struct OutOfCoreOptions {
  std::size_t device_bytes = 0;  ///< limit for operands and result on the device
  std::string variant;  ///< a kernel that multiplies in parts; empty: that of matmul(), or k is cut
  std::function<bool(std::int64_t tile)> is_done;    ///< tiles to skip (resumed work)
  std::function<void(std::int64_t tile)> tile_done;  ///< a tile is complete in C's memory
  std::function<bool()> cancelled;                   ///< called before each step
};

}  // namespace tilescope::transfer
