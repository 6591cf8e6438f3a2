// Elements of images: from memory to four channels, and back.
#pragma once

#include "emulator/textures/image.hpp"

namespace tilescope::emulator {

/// The element at `from` as tex returns it: floats if the format is floating or `as_float`, else
/// integers. Missing channels are 0.
Texel read_texel(const TexelFormat& format, const std::uint8_t* from, bool as_float, bool srgb);

/// A border's color in the format of the texture: integers are fractions, and limited.
double border_value(const TexelFormat& format, float color);

/// The sums of a filter, a channel each.
using FilterSum = std::array<double, 4>;

/// A filter's numbers. Each channel is computed as float32, as float16 (also the channels in sRGB),
/// or as integers of 16 bits that are fractions of the largest. Missing channels stay 0.
class FilterChannels {
 public:
  FilterChannels(const TexelFormat& format, bool srgb);

  /// Adds `share` of the element at `from`, of which there are `whole`.
  void add(const std::uint8_t* from, double share, double whole, FilterSum& sum) const;
  void add_border(const std::array<float, 4>& color, double share, double whole,
                  FilterSum& sum) const;
  /// The sums in the form of their channels, each rounded once to nearest, ties away from zero.
  Texel rounded(const FilterSum& sum) const;

 private:
  enum class Form : std::uint8_t { float32, float16, natural16, integer16 };
  static Form form_of(const TexelFormat& format, bool srgb);
  static double most_of(Form form);
  static float rounded(Form form, double value);

  const TexelFormat& format_;
  std::array<Form, 4> forms_;
  /// The numbers of the bytes of each channel; null for wider channels.
  std::array<const double*, 4> of_byte_;
};

/// The value of an sRGB byte, a float16.
float srgb_to_linear(std::uint8_t value);

/// Stores as sust.p does: integers are cut to the limits of the format, floats rounded.
void write_texel(const TexelFormat& format, std::uint8_t* to, const Texel& texel);

}  // namespace tilescope::emulator
