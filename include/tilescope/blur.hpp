// Box blur of pictures.
#pragma once

#include <cstdint>
#include <span>

#include "tilescope/device.hpp"
#include "tilescope/prepared_operation.hpp"
#include "tilescope/run_report.hpp"

namespace tilescope {

struct BlurOptions : RunOptions {
  int radius = 1;  ///< 0 to 64
};

/// Replaces every sample by the mean, rounded down, of its channel's samples in the box of 2 radius
/// + 1 pixels a side around it, cut at the picture's edges. `in` and `out` have `height` rows of
/// `width` pixels of `channels` (1 to 4) samples; they must not overlap.
///
///     blur(*device, in, out, height, width, 3, {.radius = 5});
///
/// Errors: usage for extents, a radius or a variant that do not fit; no_device as Device says.
RunReport blur(Device& device, const std::uint8_t* in, std::uint8_t* out, std::int64_t height,
               std::int64_t width, int channels, const BlurOptions& options = {});
/// Errors: also usage for lists that have not as many samples as the picture.
RunReport blur(Device& device, std::span<const std::uint8_t> in, std::span<std::uint8_t> out,
               std::int64_t height, std::int64_t width, int channels,
               const BlurOptions& options = {});

/// The same for operands in the device's memory (prepared_operation.hpp).
PreparedOperation prepare_blur(Device& device, const std::uint8_t* in, std::uint8_t* out,
                               std::int64_t height, std::int64_t width, int channels,
                               const BlurOptions& options = {});

}  // namespace tilescope
