#include "emulator/instructions/number_format.hpp"

#include <cmath>
#include <limits>

namespace tilescope::emulator {
namespace {

constexpr NumberFormat kF16{10, -14, 65504.0, true, 15, 0, 0x7fff};
constexpr NumberFormat kBf16{7, -126, 0x1.fep127, true, 15, 0, 0x7fff};
constexpr NumberFormat kTf32{10, -126, 0x1.ffcp127, true, 31, 13, 0x7fffffff};
constexpr NumberFormat kF32{23, -126, 0x1.fffffep127, true, 31, 0, 0x7fffffff};
constexpr NumberFormat kE4m3{3, -6, 448.0, false, 7, 0, 0x7f};
constexpr NumberFormat kE5m2{2, -14, 57344.0, true, 7, 0, 0x7f};
constexpr NumberFormat kE3m2{2, -2, 28.0, false, 5, 0, kNoNan};
constexpr NumberFormat kE2m3{3, 0, 7.5, false, 5, 0, kNoNan};
constexpr NumberFormat kE2m1{1, 0, 6.0, false, 3, 0, kNoNan};

double round_integral(double m, bool negative, ptx::Rounding rounding) {
  const double down = std::floor(m);
  const double rest = m - down;  // exact
  switch (rounding) {
    case ptx::Rounding::rz:
      return down;
    case ptx::Rounding::rm:
      return negative && rest > 0 ? down + 1 : down;
    case ptx::Rounding::rp:
      return !negative && rest > 0 ? down + 1 : down;
    case ptx::Rounding::rna:
      return rest >= 0.5 ? down + 1 : down;
    default:
      if (rest != 0.5) return rest > 0.5 ? down + 1 : down;
      return std::fmod(down, 2.0) == 0 ? down : down + 1;
  }
}

}  // namespace

const NumberFormat* number_format(ptx::Type type) {
  using ptx::Type;
  switch (type) {
    case Type::f16:
    case Type::f16x2:
      return &kF16;
    case Type::bf16:
    case Type::bf16x2:
      return &kBf16;
    case Type::tf32:
      return &kTf32;
    case Type::f32:
      return &kF32;
    case Type::e4m3:
    case Type::e4m3x2:
      return &kE4m3;
    case Type::e5m2:
    case Type::e5m2x2:
      return &kE5m2;
    case Type::e3m2:
    case Type::e3m2x2:
      return &kE3m2;
    case Type::e2m3:
    case Type::e2m3x2:
      return &kE2m3;
    case Type::e2m1:
    case Type::e2m1x2:
      return &kE2m1;
    default:
      return nullptr;
  }
}

std::uint32_t encode(double value, const NumberFormat& format, ptx::Rounding rounding,
                     bool satfinite) {
  if (std::isnan(value) && format.nan != kNoNan) return format.nan;
  if (std::isnan(value)) value = format.largest;
  const bool negative = std::signbit(value);
  const std::uint32_t sign = negative ? std::uint32_t{1} << format.sign_bit : 0;
  const double magnitude = std::fabs(value);
  const int p = format.precision;
  // The value in units of its last place.
  int exponent = format.lowest_exponent;
  if (magnitude >= std::ldexp(1.0, exponent) && !std::isinf(magnitude))
    exponent = std::ilogb(magnitude);
  double m = magnitude;
  if (!std::isinf(magnitude)) {
    m = round_integral(std::ldexp(magnitude, p - exponent), negative, rounding);
    if (m >= std::ldexp(1.0, p + 1)) {
      m /= 2;
      ++exponent;
    }
  }
  const auto pack = [&](double units, int e) {
    const auto integer = static_cast<std::uint32_t>(units);
    const std::uint32_t hidden = std::uint32_t{1} << p;
    if (integer < hidden) return integer << format.shift;  // subnormal
    const auto field = static_cast<std::uint32_t>(e - format.lowest_exponent + 1);
    return (field << p | (integer - hidden)) << format.shift;
  };
  if (std::isinf(magnitude) || std::ldexp(m, exponent - p) > format.largest) {
    // Directed rounding stops at the largest number where it points inwards.
    const bool inwards = rounding == ptx::Rounding::rz ||
                         rounding == (negative ? ptx::Rounding::rp : ptx::Rounding::rm);
    const bool clamp = satfinite || (inwards && !std::isinf(magnitude));
    const int top = std::ilogb(format.largest);
    const std::uint32_t largest = pack(std::ldexp(format.largest, p - top), top);
    if (clamp) return sign | largest;
    if (!format.has_infinity) return sign | format.nan;
    return sign | pack(std::ldexp(1.0, p), top + 1);
  }
  return sign | pack(m, exponent);
}

double decode(std::uint32_t bits, const NumberFormat& format) {
  const bool negative = (bits >> format.sign_bit & 1) != 0;
  const std::uint32_t body = (bits & ((std::uint32_t{1} << format.sign_bit) - 1)) >> format.shift;
  const int p = format.precision;
  const std::uint32_t fraction = body & ((std::uint32_t{1} << p) - 1);
  const auto field = static_cast<int>(body >> p);
  double magnitude;
  const std::uint32_t last = ((std::uint32_t{1} << format.sign_bit) - 1) >> format.shift >> p;
  if (format.has_infinity && static_cast<std::uint32_t>(field) == last) {
    magnitude = fraction == 0 ? std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::quiet_NaN();
  } else if (!format.has_infinity && body == format.nan) {
    magnitude = std::numeric_limits<double>::quiet_NaN();
  } else if (field == 0) {
    magnitude = std::ldexp(fraction, format.lowest_exponent - p);
  } else {
    magnitude =
        std::ldexp(fraction + (std::uint32_t{1} << p), field - 1 + format.lowest_exponent - p);
  }
  return negative ? -magnitude : magnitude;
}

}  // namespace tilescope::emulator
