// Textures as functions: coordinates to a value. Nothing here knows PTX, launches or faults.
//
// The arithmetic is that of an H200, as bench/texture_samples.cu recorded it. Coordinates become
// fixed-point numbers with 8 fractional bits, so that a linear filter has weights of 1/256, and so
// have levels. The weighted sum is rounded once, in the form of its elements (FilterChannels). What
// is not that of the chip, because it is not known: the level that two gradients give (here that
// of their ellipse, up to 0.14 from the chip's), and the several samples of an anisotropic filter.
#pragma once

#include "emulator/textures/image.hpp"

namespace tilescope::emulator {

/// The choice of a mipmap level.
enum class LevelChoice : std::uint8_t { base, given, by_gradient };

/// One thread's coordinates.
struct SamplePoint {
  std::array<float, 3> at{};
  std::uint32_t layer = 0;  ///< beyond the last: the last
  LevelChoice choice = LevelChoice::base;
  float level = 0;
  std::array<float, 3> dx{}, dy{};       ///< gradients of the coordinates
  std::array<std::int32_t, 3> offset{};  ///< in texels
};

/// Receives the device address of each element that a sample depends on.
using TouchedTexels = std::vector<std::uint64_t>;

/// The value at the coordinates. Elements of a border are not touched. `touched` may be null.
Texel sample(const Image& image, const Sampler& sampler, const SamplePoint& point,
             TouchedTexels* touched);

/// The element at whole coordinates of the level.
Texel fetch(const Image& image, const Sampler& sampler, const std::array<std::int64_t, 3>& at,
            std::uint32_t layer, std::uint32_t level, TouchedTexels* touched);

/// One component of the four elements that a linear filter would blend: lower left, lower right,
/// upper right, upper left, with y downwards.
Texel gather(const Image& image, const Sampler& sampler, const SamplePoint& point,
             unsigned component, TouchedTexels* touched);

/// The level of detail of the point, before it is clamped to the image's levels.
double level_of_detail(const Image& image, const Sampler& sampler, const SamplePoint& point);

}  // namespace tilescope::emulator
