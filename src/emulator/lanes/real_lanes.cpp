// Arithmetic in f32 and f64.
//
// Results that are NaN become the chip's one NaN (0x7fffffff, or CUDA's default for f64), so that a
// result depends neither on the order of operands nor on the instruction set of this CPU. Directed
// rounding sets the CPU's rounding mode around the same kernels; contraction is off for these files
// and fused operations are written as such.
#include <cfenv>

#include "emulator/lanes/lane_loop.hpp"

namespace tilescope::emulator::TILESCOPE_LANES {
namespace {

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
  return v != v ? kNan64 : bits_of(v);
}

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

template <class Op, class V>
Execute unary_of(const LaneKey& k) {
  if constexpr (sizeof(V) == 8) {
    return with_rounding<unary<Op, V, false, false>>(k.rounding);
  } else {
    return k.ftz ? with_rounding<unary<Op, V, true, false>>(k.rounding)
                 : with_rounding<unary<Op, V, false, false>>(k.rounding);
  }
}
template <class Op>
Execute unary_any(const LaneKey& k) {
  if (k.type == ptx::Type::f64) return unary_of<Op, double>(k);
  return k.type == ptx::Type::f32 ? unary_of<Op, float>(k) : nullptr;
}
template <class Op>
Execute binary_any(const LaneKey& k) {
  if (k.type == ptx::Type::f64) return with_rounding<binary<Op, double, false, false>>(k.rounding);
  if (k.type != ptx::Type::f32) return nullptr;
  if (k.ftz) {
    return k.sat ? with_rounding<binary<Op, float, true, true>>(k.rounding)
                 : with_rounding<binary<Op, float, true, false>>(k.rounding);
  }
  return k.sat ? with_rounding<binary<Op, float, false, true>>(k.rounding)
               : with_rounding<binary<Op, float, false, false>>(k.rounding);
}
Execute fma_any(const LaneKey& k) {
  if (k.type == ptx::Type::f64)
    return with_rounding<ternary<Fma, double, false, false>>(k.rounding);
  if (k.type != ptx::Type::f32) return nullptr;
  if (k.ftz) {
    return k.sat ? with_rounding<ternary<Fma, float, true, true>>(k.rounding)
                 : with_rounding<ternary<Fma, float, true, false>>(k.rounding);
  }
  return k.sat ? with_rounding<ternary<Fma, float, false, true>>(k.rounding)
               : with_rounding<ternary<Fma, float, false, false>>(k.rounding);
}
template <bool larger>
Execute extremum_any(const LaneKey& k) {
  if (k.type == ptx::Type::f64) return extremum<larger, double, false, false, false>;
  if (k.type != ptx::Type::f32) return nullptr;
  if (k.xorsign) {
    if (k.ftz) {
      return k.nan ? extremum<larger, float, true, true, true>
                   : extremum<larger, float, true, false, true>;
    }
    return k.nan ? extremum<larger, float, false, true, true>
                 : extremum<larger, float, false, false, true>;
  }
  if (k.ftz) {
    return k.nan ? extremum<larger, float, true, true, false>
                 : extremum<larger, float, true, false, false>;
  }
  return k.nan ? extremum<larger, float, false, true, false>
               : extremum<larger, float, false, false, false>;
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
