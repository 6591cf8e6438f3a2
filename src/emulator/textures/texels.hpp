// Elements of images: from memory to four channels, and back.
#pragma once

#include "emulator/textures/image.hpp"

namespace tilescope::emulator {

/// The element at `from` as tex returns it: floats if the format is floating or `as_float`, else
/// integers. Missing channels are 0.
Texel read_texel(const TexelFormat& format, const std::uint8_t* from, bool as_float, bool srgb);

/// The number in which a filter computes a channel: float32, float16 (also the channels in sRGB),
/// or integers of 16 bits that are fractions of the largest.
struct FilterNumber {
  enum class Form : std::uint8_t { float32, float16, natural16, integer16 } form = Form::float32;
  double value = 0;
};
using FilterTexel = std::array<FilterNumber, 4>;
FilterTexel filter_texel(const TexelFormat& format, const std::uint8_t* from, bool srgb);
/// A border's color in the format of the texture: integers are fractions, and limited.
double border_value(const TexelFormat& format, float color);
FilterTexel filter_border(const TexelFormat& format, const std::array<float, 4>& color, bool srgb);
/// A weighted sum in the form, rounded once to nearest, ties away from zero.
float rounded(FilterNumber sum);

/// The value of an sRGB byte, a float16.
float srgb_to_linear(std::uint8_t value);

/// Stores as sust.p does: integers are cut to the limits of the format, floats rounded.
void write_texel(const TexelFormat& format, std::uint8_t* to, const Texel& texel);

}  // namespace tilescope::emulator
