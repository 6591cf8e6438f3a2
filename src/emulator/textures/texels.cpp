#include "emulator/textures/texels.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/half.hpp"
#include "emulator/textures/srgb_table.hpp"

namespace tilescope::emulator {
namespace {

/// The bits of channel `i`, in the low end.
std::uint32_t channel_bits(const TexelFormat& format, const std::uint8_t* from, unsigned i) {
  if (format.bits == 8) return from[i];
  if (format.bits == 16) {
    std::uint16_t bits;
    std::memcpy(&bits, from + i * sizeof bits, sizeof bits);
    return bits;
  }
  std::uint32_t bits;
  std::memcpy(&bits, from + i * sizeof bits, sizeof bits);
  return bits;
}

std::int32_t sign_extended(std::uint32_t bits, unsigned width) {
  const unsigned shift = 32 - width;
  return static_cast<std::int32_t>(bits << shift) >> shift;
}

/// The largest integer of a format of 8 or 16 bits.
double most_of(const TexelFormat& format) {
  if (format.kind == TexelKind::natural) return format.bits == 8 ? 255 : 65535;
  return format.bits == 8 ? 127 : 32767;
}

/// Integers of 8 and 16 bits as fractions of the largest; the lowest of signed ones is below -1.
double fraction_of(const TexelFormat& format, std::uint32_t bits) {
  if (format.kind == TexelKind::natural) return bits / most_of(format);
  return sign_extended(bits, format.bits) / most_of(format);
}

double channel_value(const TexelFormat& format, std::uint32_t bits, bool srgb) {
  if (format.kind != TexelKind::floating) {
    return srgb ? srgb_to_linear(static_cast<std::uint8_t>(bits)) : fraction_of(format, bits);
  }
  if (format.bits == 16) return float16_to_float32(static_cast<std::uint16_t>(bits));
  return std::bit_cast<float>(bits);
}

}  // namespace

float srgb_to_linear(std::uint8_t value) {
  return float16_to_float32(kLinearOfSrgb[value]);
}

namespace {

FilterNumber::Form form_of(const TexelFormat& format, bool srgb) {
  using enum FilterNumber::Form;
  if (srgb) return float16;
  if (format.kind == TexelKind::natural) return natural16;
  if (format.kind == TexelKind::integer) return integer16;
  return format.bits == 16 ? float16 : float32;
}

/// The largest integer of a form; 0 for floats.
double most_of(FilterNumber::Form form) {
  return form == FilterNumber::Form::natural16   ? 65535
         : form == FilterNumber::Form::integer16 ? 32767
                                                 : 0;
}

/// To a float with `bits` bits of mantissa and exponents from `least`; ties go away from zero.
double to_float(double value, int bits, int least) {
  int exponent = 0;
  std::frexp(value, &exponent);
  const int step = std::max(exponent, least) - bits;
  return std::ldexp(std::round(std::ldexp(value, -step)), step);
}

}  // namespace

FilterTexel filter_texel(const TexelFormat& format, const std::uint8_t* from, bool srgb) {
  FilterTexel texel;
  for (unsigned i = 0; i < 4; ++i) {
    FilterNumber& number = texel[i];
    number.form = form_of(format, srgb && i < 3);
    if (i >= format.channels) continue;
    const double value = channel_value(format, channel_bits(format, from, i), srgb && i < 3);
    const double most = most_of(number.form);
    number.value = most == 0 ? value : value * most;
  }
  return texel;
}

double border_value(const TexelFormat& format, float color) {
  if (format.kind == TexelKind::floating) return color;
  if (format.bits == 32) return color;  // such elements are not read as floats
  const bool natural = format.kind == TexelKind::natural;
  const double most = most_of(format);
  const double whole = std::ceil(std::clamp<double>(color, natural ? 0 : -1, 1) * most - 0.5);
  return (whole + 0.0) / most;  // no -0
}

FilterTexel filter_border(const TexelFormat& format, const std::array<float, 4>& color, bool srgb) {
  FilterTexel texel;
  for (unsigned i = 0; i < 4; ++i) {
    texel[i].form = form_of(format, srgb && i < 3);
    if (i >= format.channels) continue;
    const double most = most_of(texel[i].form);
    texel[i].value = border_value(format, color[i]) * (most == 0 ? 1 : most);
  }
  return texel;
}

float rounded(FilterNumber sum) {
  if (sum.value == 0) return 0;
  switch (sum.form) {
    case FilterNumber::Form::float32:
      return static_cast<float>(to_float(sum.value, 24, -125));
    case FilterNumber::Form::float16:
      return static_cast<float>(to_float(sum.value, 11, -13));
    default:
      return static_cast<float>(std::max(std::floor(sum.value + 0.5) / most_of(sum.form), -1.0));
  }
}

Texel read_texel(const TexelFormat& format, const std::uint8_t* from, bool as_float, bool srgb) {
  const bool floats = format.kind == TexelKind::floating || as_float;
  Texel texel;
  for (unsigned i = 0; i < format.channels; ++i) {
    const std::uint32_t bits = channel_bits(format, from, i);
    if (format.kind == TexelKind::floating && format.bits == 32) {
      texel.bits[i] = bits;  // a NaN keeps its bits
    } else if (floats) {
      const double value = channel_value(format, bits, srgb && i < 3);
      const bool fraction = format.kind != TexelKind::floating;
      const auto single = static_cast<float>(fraction ? std::max(value, -1.0) : value);
      texel.bits[i] = std::bit_cast<std::uint32_t>(single);
    } else if (format.kind == TexelKind::integer) {
      texel.bits[i] = static_cast<std::uint32_t>(sign_extended(bits, format.bits));
    } else {
      texel.bits[i] = bits;
    }
  }
  return texel;
}

void write_texel(const TexelFormat& format, std::uint8_t* to, const Texel& texel) {
  for (unsigned i = 0; i < format.channels; ++i) {
    std::uint32_t bits = texel.bits[i];
    if (format.kind == TexelKind::floating && format.bits == 16) {
      bits = float32_to_float16(std::bit_cast<float>(bits));
    } else if (format.kind == TexelKind::natural && format.bits < 32) {
      bits = std::min(bits, (1u << format.bits) - 1);
    } else if (format.kind == TexelKind::integer && format.bits < 32) {
      const std::int32_t most = (1 << (format.bits - 1)) - 1;
      const auto value = std::clamp(static_cast<std::int32_t>(bits), -most - 1, most);
      bits = static_cast<std::uint32_t>(value);
    }
    std::memcpy(to + i * (format.bits / 8), &bits, format.bits / 8);
  }
}

}  // namespace tilescope::emulator
