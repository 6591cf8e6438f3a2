// Launch rules shared by the element-by-element operations.
#pragma once

#include "operations/rung/task.hpp"

namespace tilescope::operations {

/// Threads of a block where the kernel leaves the choice.
constexpr int block_threads = 256;

/// The name of float64 or float32 in kernels.
std::string_view element_name(DataType type);

/// `value` as an argument of the element type.
Argument element_argument(DataType type, double value);

/// `threads` threads in one dimension.
Plan one_thread_each(Step step, std::int64_t threads);

/// As many blocks as the device holds at once, for kernels that stride.
Plan resident_grid(Step step, const DeviceProperties& device);

/// One thread for a whole 16-byte pack of elements, and one for each element left over.
Plan one_thread_a_pack(Step step, std::int64_t count, DataType type);

/// Tiles of common/map.cuh.
struct MapTile {
  int threads = 128, unroll = 2;
};
Plan map_tiles(Step step, std::int64_t count, std::size_t element_bytes, MapTile tile = {});

}  // namespace tilescope::operations
