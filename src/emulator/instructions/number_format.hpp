// Binary floating-point formats narrower than double, and rounding into them.
#pragma once

#include <cstdint>

#include "ptx/modifiers.hpp"
#include "ptx/ptx_types.hpp"

namespace tilescope::emulator {

/// NumberFormat::nan of a format without NaN, which has the largest number in its place.
inline constexpr std::uint32_t kNoNan = ~0u;

struct NumberFormat {
  int precision;        ///< explicit bits of the significand
  int lowest_exponent;  ///< of normal numbers
  double largest;       ///< finite value
  bool has_infinity;
  int sign_bit;  ///< position
  int shift;     ///< position of the significand's lowest bit
  std::uint32_t nan;
};

/// The format of one element of `type` (f16x2 has that of f16), or null: for integers, f64, and
/// ue8m0, which is an exponent alone.
const NumberFormat* number_format(ptx::Type type);

/// `value` in `format` as bits. `satfinite` clamps values that are too large, infinities included.
std::uint32_t encode(double value, const NumberFormat& format, ptx::Rounding rounding,
                     bool satfinite);
/// Exact.
double decode(std::uint32_t bits, const NumberFormat& format);

}  // namespace tilescope::emulator
