// f32 and f64 in registers, and the CPU's rounding mode around a kernel.
#pragma once

#include <cfenv>

#include "emulator/lanes/lane_loop.hpp"

namespace tilescope::emulator::TILESCOPE_LANES {

constexpr std::uint32_t kNan32 = 0x7fffffffu;
constexpr std::uint64_t kNan64 = 0xfff8000000000000u;

TILESCOPE_INLINE std::uint32_t flush(std::uint32_t bits) {
  return (bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits;
}
template <bool ftz>
TILESCOPE_INLINE float input(std::uint32_t bits) {
  return as_float(ftz ? flush(bits) : bits);
}
template <bool ftz>
TILESCOPE_INLINE double input(std::uint64_t bits) {
  return as_double(bits);
}
template <bool ftz, bool sat>
TILESCOPE_INLINE std::uint32_t output(float v) {
  std::uint32_t bits = bits_of(v);
  if (sat) {  // NaN becomes +0
    bits = v > 0 ? bits : 0;
    return v > 1 ? 0x3f800000u : ftz ? flush(bits) : bits;
  }
  if (ftz) bits = flush(bits);
  return v != v ? kNan32 : bits;
}
template <bool ftz, bool sat>
TILESCOPE_INLINE std::uint64_t output(double v) {
  if (sat) return v > 1 ? 0x3ff0000000000000u : v > 0 ? bits_of(v) : 0u;
  return v != v ? kNan64 : bits_of(v);
}

// The CPU's rounding mode belongs to the thread. The kernel cannot be moved out from between the
// two calls, because it is called through a pointer.
template <Execute kernel, int mode>
void rounded(Context& w, const Code& c) {
  static const volatile Execute run = kernel;
  std::fesetround(mode);
  run(w, c);
  std::fesetround(FE_TONEAREST);
}
template <Execute kernel>
Execute with_rounding(ptx::Rounding r) {
  switch (r) {
    case ptx::Rounding::rz:
      return rounded<kernel, FE_TOWARDZERO>;
    case ptx::Rounding::rm:
      return rounded<kernel, FE_DOWNWARD>;
    case ptx::Rounding::rp:
      return rounded<kernel, FE_UPWARD>;
    default:
      return kernel;
  }
}

}  // namespace tilescope::emulator::TILESCOPE_LANES
