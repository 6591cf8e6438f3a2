// Integer instructions on the values of one lane.
#pragma once

#include "emulator/lanes/lane_loop.hpp"

namespace tilescope::emulator::TILESCOPE_LANES {

// clang-format off
template <class V> struct WideOf;
template <> struct WideOf<std::uint16_t> { using type = std::uint32_t; };
template <> struct WideOf<std::int16_t> { using type = std::int32_t; };
template <> struct WideOf<std::uint32_t> { using type = std::uint64_t; };
template <> struct WideOf<std::int32_t> { using type = std::int64_t; };
__extension__ using uint128 = unsigned __int128;
__extension__ using int128 = __int128;
template <> struct WideOf<std::uint64_t> { using type = uint128; };
template <> struct WideOf<std::int64_t> { using type = int128; };
template <class V> using Wide = typename WideOf<V>::type;
template <class V> constexpr bool is_signed = static_cast<V>(-1) < static_cast<V>(0);
template <class V> struct UnsignedOf { using type = V; };
template <> struct UnsignedOf<std::int16_t> { using type = std::uint16_t; };
template <> struct UnsignedOf<std::int32_t> { using type = std::uint32_t; };
template <> struct UnsignedOf<std::int64_t> { using type = std::uint64_t; };
template <class V> using Unsigned = typename UnsignedOf<V>::type;
// clang-format on

// Signed overflow wraps on the GPU, so sums are computed in unsigned arithmetic. The language
// promotes 16-bit operands to int, whose products could overflow, so they go through 32 bits.
template <class V>
using Ring = Slot<V>;  // unsigned, at least 32 bits

struct Add {
  template <class V>
  static V f(V a, V b) {
    return static_cast<V>(static_cast<Ring<V>>(a) + static_cast<Ring<V>>(b));
  }
};
struct Sub {
  template <class V>
  static V f(V a, V b) {
    return static_cast<V>(static_cast<Ring<V>>(a) - static_cast<Ring<V>>(b));
  }
};
struct AddSat {
  template <class V>
  static V f(V a, V b) {
    const std::int64_t s = std::int64_t{a} + std::int64_t{b};
    return static_cast<V>(s < INT32_MIN ? INT32_MIN : s > INT32_MAX ? INT32_MAX : s);
  }
};
struct SubSat {
  template <class V>
  static V f(V a, V b) {
    const std::int64_t s = std::int64_t{a} - std::int64_t{b};
    return static_cast<V>(s < INT32_MIN ? INT32_MIN : s > INT32_MAX ? INT32_MAX : s);
  }
};
struct MulLo {
  template <class V>
  static V f(V a, V b) {
    return static_cast<V>(static_cast<Ring<V>>(a) * static_cast<Ring<V>>(b));
  }
};
struct MulHi {
  template <class V>
  static V f(V a, V b) {
    return static_cast<V>((static_cast<Wide<V>>(a) * static_cast<Wide<V>>(b)) >> (sizeof(V) * 8));
  }
};
// Division by zero gives all ones and a remainder of the dividend, as on the chip; the smallest
// number divided by -1 wraps.
struct Div {
  template <class V>
  static V f(V a, V b) {
    if (b == 0) return static_cast<V>(-1);
    if constexpr (is_signed<V>) {
      if (b == static_cast<V>(-1)) return Sub::f<V>(0, a);
    }
    return static_cast<V>(a / b);
  }
};
struct Rem {
  template <class V>
  static V f(V a, V b) {
    if (b == 0) return a;
    if constexpr (is_signed<V>) {
      if (b == static_cast<V>(-1)) return 0;
    }
    return static_cast<V>(a % b);
  }
};
struct Min {
  template <class V>
  static V f(V a, V b) {
    return a < b ? a : b;
  }
};
struct Max {
  template <class V>
  static V f(V a, V b) {
    return a > b ? a : b;
  }
};
struct Sad {
  template <class V>
  static V f(V a, V b, V c) {
    return Add::f<V>(c, a < b ? Sub::f<V>(b, a) : Sub::f<V>(a, b));
  }
};
// 24-bit products: the low 24 bits of each operand, sign-extended from bit 23 if signed.
template <class V>
TILESCOPE_INLINE std::int64_t low24(V v) {
  const std::uint32_t shifted = static_cast<std::uint32_t>(v) << 8;
  return is_signed<V> ? std::int64_t{static_cast<std::int32_t>(shifted) >> 8}
                      : std::int64_t{shifted >> 8};
}
struct Mul24Lo {
  template <class V>
  static V f(V a, V b) {
    return static_cast<V>(low24(a) * low24(b));
  }
};
struct Mul24Hi {
  template <class V>
  static V f(V a, V b) {
    return static_cast<V>((low24(a) * low24(b)) >> 16);
  }
};
// A product and a sum.
template <class Product, class Sum = Add>
struct Mad {
  template <class V>
  static V f(V a, V b, V c) {
    return Sum::template f<V>(Product::template f<V>(a, b), c);
  }
};
using MadLo = Mad<MulLo>;
using MadHi = Mad<MulHi>;
using MadHiSat = Mad<MulHi, AddSat>;
using Mad24Lo = Mad<Mul24Lo>;
using Mad24Hi = Mad<Mul24Hi>;
using Mad24HiSat = Mad<Mul24Hi, AddSat>;
struct Neg {
  template <class V>
  static V f(V a) {
    return Sub::f<V>(0, a);
  }
};
struct Abs {
  template <class V>
  static V f(V a) {
    return a < 0 ? Sub::f<V>(0, a) : a;
  }
};

}  // namespace tilescope::emulator::TILESCOPE_LANES
