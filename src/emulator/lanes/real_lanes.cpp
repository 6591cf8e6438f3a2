// Arithmetic in f32 and f64.
//
// Results that are NaN become the chip's one NaN (0x7fffffff, or CUDA's default for f64), so that a
// result depends neither on the order of operands nor on the instruction set of this CPU. Directed
// rounding sets the CPU's rounding mode around the same kernels; contraction is off for these files
// and fused operations are written as such.
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
// div.full: the chip scales operands of 2^126 or more; here every quotient is correctly rounded.
struct Div {
  template <class V>
  TILESCOPE_INLINE V f(V a, V b) {
    return a / b;
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

// min and max: a NaN operand yields the other one (or NaN with .nan); -0 < +0.
template <bool larger, class V, bool ftz, bool nan, bool xorsign>
void extremum(Context& w, const Code& c) {
  using S = Slot<V>;
  const S* a = slots<S>(w, c.a);
  const S* b = slots<S>(w, c.b);
  constexpr S sign = S{1} << (sizeof(S) * 8 - 1);
  constexpr S quiet = sizeof(S) == 4 ? static_cast<S>(kNan32) : static_cast<S>(0x7fffffffffffffffu);
  each_lane<S>(w, c.dst, [&](int l) {
    const V x0 = input<ftz>(a[l]), y0 = input<ftz>(b[l]);
    S xb = bits_of(x0), yb = bits_of(y0);
    const S joint = (xb ^ yb) & sign;
    if (xorsign) xb &= ~sign, yb &= ~sign;
    const V x = __builtin_bit_cast(V, xb), y = __builtin_bit_cast(V, yb);
    const bool x_nan = x != x, y_nan = y != y;
    const bool x_negative = (xb & sign) != 0;
    // Equal numbers differ at most in the sign of zero.
    const bool take_x =
        larger ? (x > y || (x == y && !x_negative)) : (x < y || (x == y && x_negative));
    S r = take_x || y_nan ? xb : yb;
    r = x_nan ? yb : r;
    r = (x_nan && y_nan) || (nan && (x_nan || y_nan)) ? quiet : r;
    if (xorsign) r = (r & ~sign) | joint;
    return r;
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

}  // namespace

Execute find_real(const LaneKey& k) {
  using ptx::Opcode;
  const bool f64 = k.type == ptx::Type::f64;
  if (!f64 && k.type != ptx::Type::f32) return nullptr;
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
    // The .approx and .full forms give the correctly rounded result too: at least as good as the
    // chip's (2 ulp for div, 1 ulp for rcp, 2^-22.9 relative for rsqrt).
    case Opcode::div:
      return binary_any<Div>(k);
    case Opcode::sqrt:
      return unary_any<Sqrt>(k);
    case Opcode::rcp:
      return unary_any<Reciprocal>(k);
    case Opcode::rsqrt:
      return unary_any<ReciprocalSqrt>(k);
    case Opcode::min:
      return extremum_any<false>(k);
    case Opcode::max:
      return extremum_any<true>(k);
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
