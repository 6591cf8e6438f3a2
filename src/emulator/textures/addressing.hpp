// One axis of a texture: coordinates to elements.
#pragma once

#include <array>
#include <cstdint>
#include <tilescope/texture.hpp>

namespace tilescope::emulator {

inline constexpr int kWeightBits = 8;
inline constexpr std::uint32_t kWholeWeight = 1u << kWeightBits;

/// A coordinate with 8 fractional bits. One far outside is kept in range.
std::int64_t fixed_point(double texels);

/// The element that `index` means in an axis of `extent`; -1: the border.
std::int64_t addressed(std::int64_t index, std::int64_t extent, AddressMode mode);

/// The two elements that a linear filter blends along an axis, and the second one's weight.
struct Taps {
  std::int64_t first = 0, second = 0;  ///< before addressing
  std::uint32_t weight = 0;            ///< of the second, in 1/256
};

/// Those of a coordinate in texels, NaN as 0. With the point filter the second has no weight.
Taps taps_at(double texels, bool linear);

/// The weights of the corners between the taps, in 1/256, by a bit for the second tap of each axis:
/// rounded products that add up to 1. x and z come before y.
using CornerWeights = std::array<std::uint32_t, 8>;
CornerWeights corner_weights(const std::array<Taps, 3>& taps);

/// The coordinate in texels. One that wraps is reduced to its fraction first.
double in_texels(float coordinate, std::uint32_t extent, const Sampler& sampler, unsigned axis);

/// A normalized coordinate as the texture unit keeps it: 21 fractional bits, the rest cut.
double normalized_bits(double unit);

/// The mode that holds: only normalized coordinates wrap and mirror, others are clamped.
AddressMode effective_mode(const Sampler& sampler, unsigned axis);

}  // namespace tilescope::emulator
