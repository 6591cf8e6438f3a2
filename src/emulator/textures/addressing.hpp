// One axis of a texture: coordinates to elements.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <tilescope/texture.hpp>

namespace tilescope::emulator {

inline constexpr int kWeightBits = 8;
inline constexpr std::uint32_t kWholeWeight = 1u << kWeightBits;

/// The element that `index`, one outside [0, extent), means; -1: the border.
std::int64_t addressed_outside(std::int64_t index, std::int64_t extent, AddressMode mode);

/// The element that `index` means in an axis of `extent`; -1: the border.
inline std::int64_t addressed(std::int64_t index, std::int64_t extent, AddressMode mode) {
  if (index >= 0 && index < extent) return index;
  return addressed_outside(index, extent, mode);
}

/// floor() of a value within 2^62.
inline std::int64_t floor_to_integer(double value) {
  const auto cut = static_cast<std::int64_t>(value);
  return cut - (static_cast<double>(cut) > value ? 1 : 0);
}

/// The two elements that a linear filter blends along an axis, and the second one's weight.
struct Taps {
  std::int64_t first = 0, second = 0;  ///< before addressing
  std::uint32_t weight = 0;            ///< of the second, in 1/256
};

/// Those of a coordinate in texels, NaN as 0; one far outside is kept in range. With the point
/// filter the second has no weight.
inline Taps taps_at(double texels, bool linear) {
  constexpr double kMost = 1LL << 40;
  if (std::isnan(texels)) texels = 0;
  if (!linear) {
    const std::int64_t index = floor_to_integer(std::clamp(texels, -kMost, kMost));
    return {index, index, 0};
  }
  const std::int64_t fixed =
      floor_to_integer(std::clamp(texels - 0.5, -kMost, kMost) * kWholeWeight + 0.5);
  const std::int64_t first = fixed >> kWeightBits;
  return {first, first + 1, static_cast<std::uint32_t>(fixed & (kWholeWeight - 1))};
}

/// The weights of the corners between the taps, in 1/256, by a bit for the second tap of each axis:
/// rounded products that add up to 1. x and z come before y.
using CornerWeights = std::array<std::uint32_t, 8>;
CornerWeights corner_weights(const std::array<Taps, 3>& taps);

/// A normalized coordinate in texels. One that wraps is reduced to its fraction first; 21
/// fractional bits are kept, the rest cut.
double normalized_in_texels(float coordinate, std::uint32_t extent, AddressMode mode);

/// The mode that holds: only normalized coordinates wrap and mirror, others are clamped.
AddressMode effective_mode(const Sampler& sampler, unsigned axis);

}  // namespace tilescope::emulator
