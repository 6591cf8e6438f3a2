// Arithmetic in f32 and f64.
//
// Results that are NaN become the chip's one NaN (0x7fffffff, or CUDA's default for f64), so that a
// result depends neither on the order of operands nor on the instruction set of this CPU. Directed
// rounding sets the CPU's rounding mode around the same kernels; contraction is off for these files
// and fused operations are written as such.
#include "emulator/lanes/half_values.hpp"
#include "emulator/lanes/real_values.hpp"

namespace tilescope::emulator::TILESCOPE_LANES {
namespace {

struct Add {
  template <class V>
  TILESCOPE_INLINE V f(V a, V b) {
    return a + b;
  }
};
struct Sub {
  template <class V>
  TILESCOPE_INLINE V f(V a, V b) {
    return a - b;
  }
};
struct Mul {
  template <class V>
  TILESCOPE_INLINE V f(V a, V b) {
    return a * b;
  }
};
struct Div {
  template <class V>
  TILESCOPE_INLINE V f(V a, V b) {
    return a / b;
  }
};
// div.approx multiplies with the reciprocal, which has no subnormal values; div.full scales.
struct DivApprox {
  TILESCOPE_INLINE float f(float a, float b) {
    return __builtin_fabsf(b) > 0x1p126f ? a * __builtin_copysignf(0, b) : a / b;
  }
};
struct Fma {
  TILESCOPE_INLINE float f(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
  TILESCOPE_INLINE double f(double a, double b, double c) { return __builtin_fma(a, b, c); }
};
struct Sqrt {
  TILESCOPE_INLINE float f(float a) { return __builtin_sqrtf(a); }
  TILESCOPE_INLINE double f(double a) { return __builtin_sqrt(a); }
};
struct Reciprocal {
  template <class V>
  TILESCOPE_INLINE V f(V a) {
    return V{1} / a;
  }
};
struct ReciprocalSqrt {
  TILESCOPE_INLINE float f(float a) {
    return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(a)));
  }
  TILESCOPE_INLINE double f(double a) { return 1.0 / __builtin_sqrt(a); }
};

// rcp and rsqrt .approx.ftz.f64 read and write the upper words alone.
template <class Op>
void upper_word(Context& w, const Code& c) {
  const std::uint64_t* a = slots<std::uint64_t>(w, c.a);
  constexpr std::uint64_t sign = std::uint64_t{1} << 63, upper = ~std::uint64_t{0} << 32;
  constexpr std::uint64_t exponent = 0x7ff0000000000000u;
  each_lane<std::uint64_t>(w, c.dst, [&](int l) {
    const std::uint64_t in = (a[l] & exponent) == 0 ? a[l] & sign : a[l] & upper;
    const std::uint64_t out = output<false, false>(Op::f(as_double(in)));
    if ((out & exponent) == 0) return out & sign;
    return (out & exponent) == exponent ? out : (out + (std::uint64_t{1} << 31)) & upper;
  });
}

template <class Op, class V, bool ftz, bool sat>
void unary(Context& w, const Code& c) {
  const auto* a = slots<Slot<V>>(w, c.a);
  each_lane<Slot<V>>(w, c.dst, [&](int l) { return output<ftz, sat>(Op::f(input<ftz>(a[l]))); });
}
template <class Op, class V, bool ftz, bool sat>
void binary(Context& w, const Code& c) {
  const auto* a = slots<Slot<V>>(w, c.a);
  const auto* b = slots<Slot<V>>(w, c.b);
  each_lane<Slot<V>>(
      w, c.dst, [&](int l) { return output<ftz, sat>(Op::f(input<ftz>(a[l]), input<ftz>(b[l]))); });
}
template <class Op, class V, bool ftz, bool sat>
void ternary(Context& w, const Code& c) {
  const auto* a = slots<Slot<V>>(w, c.a);
  const auto* b = slots<Slot<V>>(w, c.b);
  const auto* d = slots<Slot<V>>(w, c.c);
  each_lane<Slot<V>>(w, c.dst, [&](int l) {
    return output<ftz, sat>(Op::f(input<ftz>(a[l]), input<ftz>(b[l]), input<ftz>(d[l])));
  });
}

// add, sub and fma in f32 whose factors are 16-bit floats: `factors` operands of type H, then one.
template <class Op, class H, int factors, bool sat>
void mixed(Context& w, const Code& c) {
  const std::uint32_t* a = slots<std::uint32_t>(w, c.a);
  const std::uint32_t* b = slots<std::uint32_t>(w, c.b);
  const std::uint32_t* d = slots<std::uint32_t>(w, c.c);
  each_lane<std::uint32_t>(w, c.dst, [&](int l) {
    const float x = H::widen(a[l] & 0xffff);
    if constexpr (factors == 1) {
      return output<false, sat>(Op::f(x, as_float(b[l])));
    } else {
      return output<false, sat>(Op::f(x, H::widen(b[l] & 0xffff), as_float(d[l])));
    }
  });
}

// Two floats in a register, the lower words first.
template <class Op, bool ftz, class... Operands>
TILESCOPE_INLINE std::uint64_t on_both(Operands... each) {
  const std::uint64_t low =
      output<ftz, false>(Op::f(input<ftz>(static_cast<std::uint32_t>(each))...));
  const std::uint64_t high =
      output<ftz, false>(Op::f(input<ftz>(static_cast<std::uint32_t>(each >> 32))...));
  return low | high << 32;
}
template <class Op, bool ftz>
void binary_pair(Context& w, const Code& c) {
  const std::uint64_t* a = slots<std::uint64_t>(w, c.a);
  const std::uint64_t* b = slots<std::uint64_t>(w, c.b);
  each_lane<std::uint64_t>(w, c.dst, [&](int l) { return on_both<Op, ftz>(a[l], b[l]); });
}
template <bool ftz>
void fma_pair(Context& w, const Code& c) {
  const std::uint64_t* a = slots<std::uint64_t>(w, c.a);
  const std::uint64_t* b = slots<std::uint64_t>(w, c.b);
  const std::uint64_t* d = slots<std::uint64_t>(w, c.c);
  each_lane<std::uint64_t>(w, c.dst, [&](int l) { return on_both<Fma, ftz>(a[l], b[l], d[l]); });
}

// min and max: a NaN operand yields the other one (or NaN with .nan); -0 < +0.
template <bool larger, bool nan, class V>
TILESCOPE_INLINE Slot<V> extreme(V x, V y) {
  using S = Slot<V>;
  constexpr S quiet = sizeof(S) == 4 ? static_cast<S>(kNan32) : static_cast<S>(0x7fffffffffffffffu);
  const S xb = bits_of(x), yb = bits_of(y);
  const bool x_nan = x != x, y_nan = y != y;
  const bool x_negative = xb >> (sizeof(S) * 8 - 1) != 0;
  // Equal numbers differ at most in the sign of zero.
  const bool take_x =
      larger ? (x > y || (x == y && !x_negative)) : (x < y || (x == y && x_negative));
  S r = take_x || y_nan ? xb : yb;
  r = x_nan ? yb : r;
  return (x_nan && y_nan) || (nan && (x_nan || y_nan)) ? quiet : r;
}
template <bool larger, class V, bool ftz, bool nan, bool xorsign>
void extremum(Context& w, const Code& c) {
  using S = Slot<V>;
  const S* a = slots<S>(w, c.a);
  const S* b = slots<S>(w, c.b);
  constexpr S sign = S{1} << (sizeof(S) * 8 - 1);
  each_lane<S>(w, c.dst, [&](int l) {
    S x = bits_of(input<ftz>(a[l])), y = bits_of(input<ftz>(b[l]));
    const S joint = (x ^ y) & sign;
    if (xorsign) x &= ~sign, y &= ~sign;
    const S r = extreme<larger, nan>(__builtin_bit_cast(V, x), __builtin_bit_cast(V, y));
    return xorsign ? (r & ~sign) | joint : r;
  });
}
template <bool larger, bool ftz, bool nan, bool absolute>
void extremum_of_three(Context& w, const Code& c) {
  const std::uint32_t* a = slots<std::uint32_t>(w, c.a);
  const std::uint32_t* b = slots<std::uint32_t>(w, c.b);
  const std::uint32_t* d = slots<std::uint32_t>(w, c.c);
  constexpr std::uint32_t kept = absolute ? 0x7fffffffu : ~0u;
  each_lane<std::uint32_t>(w, c.dst, [&](int l) {
    const float x = input<ftz>(a[l] & kept), y = input<ftz>(b[l] & kept);
    const float first = as_float(extreme<larger, nan>(x, y));
    return extreme<larger, nan>(first, input<ftz>(d[l] & kept));
  });
}

template <class V, bool ftz>
void absolute(Context& w, const Code& c) {
  using S = Slot<V>;
  const S* a = slots<S>(w, c.a);
  constexpr S sign = S{1} << (sizeof(S) * 8 - 1);
  each_lane<S>(w, c.dst, [&](int l) { return bits_of(input<ftz>(a[l])) & ~sign; });
}
template <class V, bool ftz>
void negate(Context& w, const Code& c) {
  using S = Slot<V>;
  const S* a = slots<S>(w, c.a);
  constexpr S sign = S{1} << (sizeof(S) * 8 - 1);
  each_lane<S>(w, c.dst, [&](int l) { return bits_of(input<ftz>(a[l])) ^ sign; });
}
template <class V>
void copy_sign(Context& w, const Code& c) {  // the sign of a, the rest of b
  using S = Slot<V>;
  const S* a = slots<S>(w, c.a);
  const S* b = slots<S>(w, c.b);
  constexpr S sign = S{1} << (sizeof(S) * 8 - 1);
  each_lane<S>(w, c.dst, [&](int l) { return (a[l] & sign) | (b[l] & ~sign); });
}

template <class Op>
Execute unary_any(const LaneKey& k) {
  if (k.type == ptx::Type::f64) return with_rounding<unary<Op, double, false, false>>(k.rounding);
  return k.ftz ? with_rounding<unary<Op, float, true, false>>(k.rounding)
               : with_rounding<unary<Op, float, false, false>>(k.rounding);
}
template <class Op>
Execute binary_any(const LaneKey& k) {
  if (k.type == ptx::Type::f64) return with_rounding<binary<Op, double, false, false>>(k.rounding);
  const auto choose = [&](auto ftz, auto sat) {
    return with_rounding<binary<Op, float, ftz.value, sat.value>>(k.rounding);
  };
  return for_flags(choose, k.ftz, k.sat);
}
Execute fma_any(const LaneKey& k) {
  if (k.type == ptx::Type::f64)
    return with_rounding<ternary<Fma, double, false, false>>(k.rounding);
  const auto choose = [&](auto ftz, auto sat) {
    return with_rounding<ternary<Fma, float, ftz.value, sat.value>>(k.rounding);
  };
  return for_flags(choose, k.ftz, k.sat);
}
template <bool larger>
Execute extremum_any(const LaneKey& k) {
  if (k.type == ptx::Type::f64) return extremum<larger, double, false, false, false>;
  const auto choose = [](auto ftz, auto nan, auto xorsign) -> Execute {
    return extremum<larger, float, ftz.value, nan.value, xorsign.value>;
  };
  return for_flags(choose, k.ftz, k.nan, k.xorsign);
}
template <bool larger>
Execute extremum_of_three_any(const LaneKey& k) {
  const auto choose = [](auto ftz, auto nan, auto absolute) -> Execute {
    return extremum_of_three<larger, ftz.value, nan.value, absolute.value>;
  };
  return for_flags(choose, k.ftz, k.nan, k.abs);
}
template <class Op, int factors>
Execute mixed_any(const LaneKey& k) {
  const auto choose = [&](auto bf16, auto sat) {
    return bf16.value ? with_rounding<mixed<Op, BF16, factors, sat.value>>(k.rounding)
                      : with_rounding<mixed<Op, F16, factors, sat.value>>(k.rounding);
  };
  return for_flags(choose, k.source == ptx::Type::bf16, k.sat);
}
Execute find_mixed(const LaneKey& k) {
  using ptx::Opcode;
  if (k.source != ptx::Type::f16 && k.source != ptx::Type::bf16) return nullptr;
  switch (k.opcode) {
    case Opcode::add:
      return mixed_any<Add, 1>(k);
    case Opcode::sub:
      return mixed_any<Sub, 1>(k);
    case Opcode::fma:
      return mixed_any<Fma, 2>(k);
    default:
      return nullptr;
  }
}
template <class Op>
Execute binary_pair_any(const LaneKey& k) {
  return k.ftz ? with_rounding<binary_pair<Op, true>>(k.rounding)
               : with_rounding<binary_pair<Op, false>>(k.rounding);
}
Execute find_pair(const LaneKey& k) {
  using ptx::Opcode;
  switch (k.opcode) {
    case Opcode::add:
      return binary_pair_any<Add>(k);
    case Opcode::sub:
      return binary_pair_any<Sub>(k);
    case Opcode::mul:
      return binary_pair_any<Mul>(k);
    case Opcode::fma:
      return k.ftz ? with_rounding<fma_pair<true>>(k.rounding)
                   : with_rounding<fma_pair<false>>(k.rounding);
    default:
      return nullptr;
  }
}

}  // namespace

Execute find_real(const LaneKey& k) {
  using ptx::Opcode;
  const bool f64 = k.type == ptx::Type::f64;
  if (k.type == ptx::Type::f32x2) return find_pair(k);
  if (!f64 && k.type != ptx::Type::f32) return nullptr;
  if (k.source != k.type) return find_mixed(k);
  switch (k.opcode) {
    case Opcode::add:
      return binary_any<Add>(k);
    case Opcode::sub:
      return binary_any<Sub>(k);
    case Opcode::mul:
      return binary_any<Mul>(k);
    case Opcode::mad:
    case Opcode::fma:
      return fma_any(k);
    // The .approx and .full forms give the correctly rounded result too, in the chip's range: at
    // least as good as the chip's (2 ulp for div, 1 ulp for rcp, 2^-22.9 relative for rsqrt).
    case Opcode::div:
      return k.approx ? binary_any<DivApprox>(k) : binary_any<Div>(k);
    case Opcode::sqrt:
      return unary_any<Sqrt>(k);
    case Opcode::rcp:
      if (f64 && k.approx) return upper_word<Reciprocal>;
      return unary_any<Reciprocal>(k);
    case Opcode::rsqrt:
      if (f64 && k.ftz) return upper_word<ReciprocalSqrt>;
      return unary_any<ReciprocalSqrt>(k);
    case Opcode::min:
      return k.three ? extremum_of_three_any<false>(k) : extremum_any<false>(k);
    case Opcode::max:
      return k.three ? extremum_of_three_any<true>(k) : extremum_any<true>(k);
    case Opcode::abs:
      return f64 ? absolute<double, false> : k.ftz ? absolute<float, true> : absolute<float, false>;
    case Opcode::neg:
      return f64 ? negate<double, false> : k.ftz ? negate<float, true> : negate<float, false>;
    case Opcode::copysign:
      return f64 ? copy_sign<double> : copy_sign<float>;
    default:
      return nullptr;
  }
}

}  // namespace tilescope::emulator::TILESCOPE_LANES
