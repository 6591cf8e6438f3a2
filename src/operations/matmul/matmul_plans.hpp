// Launch rules of the matmul kernels, to which the table's rows point. A plan is for shapes that
// are already multiples of the row's granularity.
#pragma once

#include <string>
#include <tilescope/device_properties.hpp>
#include <tilescope/launch.hpp>
#include <tilescope/matrix.hpp>
#include <utility>
#include <vector>

namespace tilescope::operations {

/// Compile-time constants and launch of a kernel for one shape on one device.
struct MatmulPlan {
  Launch launch;
  std::vector<std::pair<std::string, std::string>> defines;
};

MatmulShape any_shape(int width);
MatmulShape square_tiles(int width);
MatmulShape register_1d_granularity(int width);
MatmulShape register_2d_granularity(int width);
MatmulShape warp_tiles_granularity(int width);

/// One thread per element of C, all in one block.
MatmulPlan one_block(const MatmulShape& shape, int width, const DeviceProperties& device);
/// WIDTH x WIDTH threads over C, x along the columns.
MatmulPlan wide_blocks(const MatmulShape& shape, int width, const DeviceProperties& device);
/// WIDTH x WIDTH threads over C, x along the rows.
MatmulPlan exchanged_blocks(const MatmulShape& shape, int width, const DeviceProperties& device);
/// The two rules above with the width as the constant TILE.
MatmulPlan tiles(const MatmulShape& shape, int width, const DeviceProperties& device);
MatmulPlan exchanged_tiles(const MatmulShape& shape, int width, const DeviceProperties& device);
/// Tiles of the width that suits the device, in dynamic shared memory.
MatmulPlan dynamic_tiles(const MatmulShape& shape, int width, const DeviceProperties& device);
MatmulPlan register_1d(const MatmulShape& shape, int width, const DeviceProperties& device);
MatmulPlan register_2d(const MatmulShape& shape, int width, const DeviceProperties& device);
MatmulPlan warp_tiles(const MatmulShape& shape, int width, const DeviceProperties& device);

/// `wide_blocks` for rows with a fixed width.
template <int width>
MatmulPlan square_blocks(const MatmulShape& shape, int, const DeviceProperties& device) {
  return wide_blocks(shape, width, device);
}

}  // namespace tilescope::operations
