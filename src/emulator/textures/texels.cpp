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

double border_value(const TexelFormat& format, float color) {
  if (format.kind == TexelKind::floating) return color;
  if (format.bits == 32) return color;  // such elements are not read as floats
  const bool natural = format.kind == TexelKind::natural;
  const double most = most_of(format);
  const double whole = std::ceil(std::clamp<double>(color, natural ? 0 : -1, 1) * most - 0.5);
  return (whole + 0.0) / most;  // no -0
}

namespace {

/// To a float with `bits` bits of mantissa and exponents from `least`; ties go away from zero.
double to_float(double value, int bits, int least) {
  constexpr int kMantissa = 53;
  if (std::fabs(value) >= std::ldexp(1, least - 1) && std::isfinite(value)) {
    const std::uint64_t unit = std::uint64_t{1} << (kMantissa - bits);
    const auto magnitude = std::bit_cast<std::uint64_t>(value) + unit / 2;  // may carry upwards
    return std::bit_cast<double>(magnitude & ~(unit - 1));
  }
  return std::ldexp(std::round(std::ldexp(value, bits - least)), least - bits);
}

using ByteTable = std::array<double, 256>;

/// The numbers of all bytes: of natural and of signed channels as integers of 16 bits, and linear
/// ones of channels in sRGB.
struct ByteTables {
  ByteTable natural, integer, linear;

  ByteTables() {
    for (std::uint32_t byte = 0; byte < natural.size(); ++byte) {
      natural[byte] = fraction_of({.bits = 8, .kind = TexelKind::natural}, byte) * 65535;
      integer[byte] = fraction_of({.bits = 8, .kind = TexelKind::integer}, byte) * 32767;
      linear[byte] = srgb_to_linear(static_cast<std::uint8_t>(byte));
    }
  }
};

const double* numbers_of_bytes(const TexelFormat& format, bool srgb) {
  static const ByteTables tables;
  if (format.bits != 8) return nullptr;
  if (srgb) return tables.linear.data();
  return (format.kind == TexelKind::natural ? tables.natural : tables.integer).data();
}

}  // namespace

FilterChannels::FilterChannels(const TexelFormat& format, bool srgb) : format_(format) {
  for (unsigned i = 0; i < 4; ++i) {
    forms_[i] = form_of(format, srgb && i < 3);
    of_byte_[i] = numbers_of_bytes(format, srgb && i < 3);
  }
}

FilterChannels::Form FilterChannels::form_of(const TexelFormat& format, bool srgb) {
  if (srgb) return Form::float16;
  if (format.kind == TexelKind::natural) return Form::natural16;
  if (format.kind == TexelKind::integer) return Form::integer16;
  return format.bits == 16 ? Form::float16 : Form::float32;
}

/// The largest integer of a form; 0 for floats.
double FilterChannels::most_of(Form form) {
  return form == Form::natural16 ? 65535 : form == Form::integer16 ? 32767 : 0;
}

void FilterChannels::add(const std::uint8_t* from, double share, double whole,
                         FilterSum& sum) const {
  for (unsigned i = 0; i < format_.channels; ++i) {
    double number;
    if (of_byte_[i] != nullptr) {
      number = of_byte_[i][from[i]];
    } else {
      const double value = channel_value(format_, channel_bits(format_, from, i), false);
      const double most = most_of(forms_[i]);
      number = most == 0 ? value : value * most;
    }
    sum[i] += number * share / whole;
  }
}

void FilterChannels::add_border(const std::array<float, 4>& color, double share, double whole,
                                FilterSum& sum) const {
  for (unsigned i = 0; i < format_.channels; ++i) {
    const double most = most_of(forms_[i]);
    const double number = border_value(format_, color[i]) * (most == 0 ? 1 : most);
    sum[i] += number * share / whole;
  }
}

float FilterChannels::rounded(Form form, double value) {
  if (value == 0) return 0;
  switch (form) {
    case Form::float32:
      return static_cast<float>(to_float(value, 24, -125));
    case Form::float16:
      return static_cast<float>(to_float(value, 11, -13));
    default:
      return static_cast<float>(std::max(std::floor(value + 0.5) / most_of(form), -1.0));
  }
}

Texel FilterChannels::rounded(const FilterSum& sum) const {
  Texel texel;
  for (unsigned i = 0; i < format_.channels; ++i) {
    texel.bits[i] = std::bit_cast<std::uint32_t>(rounded(forms_[i], sum[i]));
  }
  return texel;
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
