#include "base/float8.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/half.hpp"

namespace tilescope {
namespace {

/// A format of sign, exponent and `mantissa` bits.
struct Format {
  int mantissa;
  int least_exponent;  // of normal numbers
  double largest;
  std::uint8_t beyond;  // what a larger value becomes
};
constexpr Format e4m3{3, -6, 448.0, 0x7F};
constexpr Format e5m2{2, -14, 57344.0, 0x7C};
constexpr std::uint8_t nan_bits = 0x7F;

std::uint8_t narrowed(double value, const Format& format) {
  constexpr std::uint8_t sign_bit = 0x80;
  const std::uint8_t sign = std::signbit(value) ? sign_bit : 0;
  if (std::isnan(value)) return sign | nan_bits;
  const double size = std::abs(value);
  if (size > 2.0 * format.largest) return sign | format.beyond;
  // The exponent of a double, without a call: zero and subnormal doubles are far below any other.
  const int exponent = static_cast<int>(std::bit_cast<std::uint64_t>(size) >> 52U) - 1023;
  const int scale = std::max(exponent, format.least_exponent) - format.mantissa;
  // Adding this leaves multiples of 2^scale, rounded to nearest even.
  const double rounder = std::ldexp(1.5, scale + 52);
  const double rounded = (size + rounder) - rounder;
  if (rounded > format.largest) return sign | format.beyond;
  if (rounded < std::ldexp(1.0, format.least_exponent)) {
    return sign |
           static_cast<std::uint8_t>(std::ldexp(rounded, format.mantissa - format.least_exponent));
  }
  const auto bits = std::bit_cast<std::uint64_t>(rounded);
  const auto biased = static_cast<int>(bits >> 52U) - 1023 - format.least_exponent + 1;
  const auto mantissa =
      static_cast<unsigned>(bits >> (52U - static_cast<unsigned>(format.mantissa))) &
      ((1U << static_cast<unsigned>(format.mantissa)) - 1U);
  return sign |
         static_cast<std::uint8_t>(
             static_cast<unsigned>(biased) << static_cast<unsigned>(format.mantissa) | mantissa);
}

}  // namespace

// It has the exponent and mantissa of a float16, whose exponent's bias is greater by 8.
float e4m3_to_float32(std::uint8_t bits) {
  if ((bits & nan_bits) == nan_bits) return std::numeric_limits<float>::quiet_NaN();
  const auto moved = static_cast<std::uint16_t>((bits & 0x80U) << 8U | (bits & 0x7FU) << 7U);
  return 256.0F * float16_to_float32(moved);
}

std::uint8_t float64_to_e4m3(double value) {
  return narrowed(value, e4m3);
}

// It is the upper half of a float16.
float e5m2_to_float32(std::uint8_t bits) {
  return float16_to_float32(static_cast<std::uint16_t>(bits << 8U));
}

std::uint8_t float64_to_e5m2(double value) {
  return narrowed(value, e5m2);
}

}  // namespace tilescope
