// The formats f16 and bf16: widening to float, and rounding from double.
#pragma once

#include "emulator/lanes/lane_loop.hpp"

namespace tilescope::emulator::TILESCOPE_LANES {

struct F16 {
  static constexpr std::uint32_t sign = 0x8000, nan = 0x7fff, infinity = 0x7c00, one = 0x3c00;
  static constexpr std::uint32_t exponent = 0x7c00;
  TILESCOPE_INLINE float widen(std::uint32_t h) {
    const std::uint32_t magnitude = h & 0x7fff;
    // The exponent moves to its place; multiplying by 2^112 corrects the bias, subnormals included.
    const std::uint32_t finite = bits_of(as_float(magnitude << 13) * 0x1p112f);
    const std::uint32_t special = (magnitude << 13) | 0x7f800000u;
    return as_float((magnitude >= 0x7c00 ? special : finite) | (h & 0x8000) << 16);
  }
  TILESCOPE_INLINE std::uint32_t narrow(double v) {
    const std::uint64_t u = bits_of(v), m = u & ~(std::uint64_t{1} << 63);
    const std::uint32_t s = static_cast<std::uint32_t>(u >> 48) & 0x8000;
    const std::uint64_t normal =
        (m - (std::uint64_t{1023 - 15} << 52) + ((std::uint64_t{1} << 41) - 1) + (m >> 42 & 1)) >>
        42;
    const std::uint64_t subnormal = bits_of(as_double(m) + 0x1p28) - bits_of(0x1p28);
    std::uint32_t r = static_cast<std::uint32_t>(as_double(m) < 0x1p-14 ? subnormal : normal);
    r = as_double(m) >= 65520.0 ? 0x7c00u : r;
    return v != v ? nan : (r | s);
  }
};
struct BF16 {
  static constexpr std::uint32_t sign = 0x8000, nan = 0x7fff, infinity = 0x7f80, one = 0x3f80;
  static constexpr std::uint32_t exponent = 0x7f80;
  TILESCOPE_INLINE float widen(std::uint32_t h) { return as_float(h << 16); }
  TILESCOPE_INLINE std::uint32_t narrow(double v) {
    const std::uint64_t u = bits_of(v), m = u & ~(std::uint64_t{1} << 63);
    const std::uint32_t s = static_cast<std::uint32_t>(u >> 48) & 0x8000;
    const std::uint64_t normal =
        (m - (std::uint64_t{1023 - 127} << 52) + ((std::uint64_t{1} << 44) - 1) + (m >> 45 & 1)) >>
        45;
    const std::uint64_t subnormal = bits_of(as_double(m) + 0x1p-81) - bits_of(0x1p-81);
    std::uint32_t r = static_cast<std::uint32_t>(as_double(m) < 0x1p-126 ? subnormal : normal);
    r = as_double(m) >= 0x1.ffp127 ? 0x7f80u : r;
    return v != v ? nan : (r | s);
  }
};

}  // namespace tilescope::emulator::TILESCOPE_LANES
