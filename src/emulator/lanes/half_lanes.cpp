// Arithmetic in f16 and bf16, alone or two in a register.
//
// Sums and products are computed in double. A product of two 16-bit numbers is exact there. A sum
// may not be, and a second rounding could be wrong at ties: so the double is rounded to odd (an
// inexact result gets an odd last bit), after which the second rounding is right.
#include "emulator/lanes/half_values.hpp"

namespace tilescope::emulator::TILESCOPE_LANES {
namespace {

/// a * b + c, rounded to odd. a * b is exact.
TILESCOPE_INLINE double fused_to_odd(double a, double b, double c) {
  const double p = a * b;
  const double s = p + c;
  const double t = s - p;
  const double error = (p - (s - t)) + (c - t);  // exact (two-sum)
  const std::uint64_t u = bits_of(s);
  const bool inexact = error < 0 || error > 0;  // false for NaN: infinities stay
  const bool outwards = (error < 0) == (s < 0);
  const std::uint64_t odd = outwards ? u + 1 : u - 1;
  return as_double(inexact && (u & 1) == 0 ? odd : u);
}

template <class H>
TILESCOPE_INLINE std::uint32_t flush(std::uint32_t h) {
  return (h & H::exponent) == 0 ? h & H::sign : h;
}

struct Options {
  bool ftz, sat, relu;
};
template <class H>
TILESCOPE_INLINE std::uint32_t finish(double v, Options o) {
  std::uint32_t r = H::narrow(v);
  if (o.ftz) r = flush<H>(r);
  if (o.sat) r = v != v || v <= 0 ? 0u : v >= 1 ? H::one : r;
  if (o.relu) r = v != v ? H::nan : v <= 0 ? 0u : r;
  return r;
}

enum class Form { add, sub, mul, fma };

template <class H, Form form>
TILESCOPE_INLINE std::uint32_t element(std::uint32_t x, std::uint32_t y, std::uint32_t z,
                                       Options o) {
  if (o.ftz) x = flush<H>(x), y = flush<H>(y), z = flush<H>(z);
  const double a = H::widen(x & 0xffff), b = H::widen(y & 0xffff), c = H::widen(z & 0xffff);
  if (form == Form::add) return finish<H>(fused_to_odd(a, 1, b), o);
  if (form == Form::sub) return finish<H>(fused_to_odd(a, 1, -b), o);
  if (form == Form::mul) return finish<H>(a * b, o);
  return finish<H>(fused_to_odd(a, b, c), o);
}

TILESCOPE_INLINE Options options(const Code& c) {
  return {(c.aux & 1) != 0, (c.aux & 2) != 0, (c.aux & 4) != 0};
}

template <class H, Form form, bool packed>
void arithmetic(Context& w, const Code& c) {
  const std::uint32_t* a = slots<std::uint32_t>(w, c.a);
  const std::uint32_t* b = slots<std::uint32_t>(w, c.b);
  const std::uint32_t* d = form == Form::fma ? slots<std::uint32_t>(w, c.c) : a;
  const Options o = options(c);
  each_lane<std::uint32_t>(w, c.dst, [&](int l) {
    const std::uint32_t low = element<H, form>(a[l] & 0xffff, b[l] & 0xffff, d[l] & 0xffff, o);
    if (!packed) return low;
    return low | element<H, form>(a[l] >> 16, b[l] >> 16, d[l] >> 16, o) << 16;
  });
}

template <class H, bool packed, bool negated>
void sign_change(Context& w, const Code& c) {
  const std::uint32_t* a = slots<std::uint32_t>(w, c.a);
  constexpr std::uint32_t bits = packed ? 0x80008000u : 0x8000u;
  const bool ftz = options(c).ftz;
  each_lane<std::uint32_t>(w, c.dst, [&](int l) {
    std::uint32_t v = a[l];
    if (ftz) v = flush<H>(v & 0xffff) | (packed ? flush<H>(v >> 16) << 16 : 0u);
    return negated ? v ^ bits : v & ~bits;
  });
}

// aux bits 3 and 4: .nan and .xorsign.abs.
template <class H, bool larger>
TILESCOPE_INLINE std::uint32_t extremum(std::uint32_t x, std::uint32_t y, Options o, bool nan,
                                        bool xorsign) {
  if (o.ftz) x = flush<H>(x), y = flush<H>(y);
  const std::uint32_t joint = (x ^ y) & 0x8000;
  if (xorsign) x &= 0x7fff, y &= 0x7fff;
  const bool x_nan = (x & 0x7fff) > H::infinity, y_nan = (y & 0x7fff) > H::infinity;
  const float p = H::widen(x), q = H::widen(y);
  const bool negative = (x & 0x8000) != 0;
  const bool take_x = larger ? (p > q || (p == q && !negative)) : (p < q || (p == q && negative));
  std::uint32_t r = take_x || y_nan ? x : y;
  r = x_nan ? y : r;
  r = (x_nan && y_nan) || (nan && (x_nan || y_nan)) ? H::nan : r;
  if (xorsign) r = (r & 0x7fff) | joint;
  if (o.relu) r = r == H::nan ? r : (r & 0x8000) != 0 ? 0u : r;
  return r;
}
template <class H, bool larger, bool packed>
void extremum_kernel(Context& w, const Code& c) {
  const std::uint32_t* a = slots<std::uint32_t>(w, c.a);
  const std::uint32_t* b = slots<std::uint32_t>(w, c.b);
  const Options o = options(c);
  const bool nan = (c.aux & 8) != 0, xorsign = (c.aux & 16) != 0;
  each_lane<std::uint32_t>(w, c.dst, [&](int l) {
    const std::uint32_t low = extremum<H, larger>(a[l] & 0xffff, b[l] & 0xffff, o, nan, xorsign);
    if (!packed) return low;
    return low | extremum<H, larger>(a[l] >> 16, b[l] >> 16, o, nan, xorsign) << 16;
  });
}

template <class H>
void to_f32(Context& w, const Code& c) {
  const std::uint32_t* a = slots<std::uint32_t>(w, c.a);
  each_lane<std::uint32_t>(w, c.dst, [&](int l) {
    const std::uint32_t h = a[l] & 0xffff;
    return (h & 0x7fff) > H::infinity ? 0x7fffffffu : bits_of(H::widen(h));
  });
}
template <class H>
void from_f32(Context& w, const Code& c) {
  const std::uint32_t* a = slots<std::uint32_t>(w, c.a);
  const Options o = options(c);
  each_lane<std::uint32_t>(w, c.dst, [&](int l) { return finish<H>(as_float(a[l]), o); });
}
template <class H>
void pair_from_f32(Context& w, const Code& c) {  // cvt.rn.f16x2.f32 d, a, b: a is the upper half
  const std::uint32_t* a = slots<std::uint32_t>(w, c.a);
  const std::uint32_t* b = slots<std::uint32_t>(w, c.b);
  const Options o = options(c);
  each_lane<std::uint32_t>(w, c.dst, [&](int l) {
    return finish<H>(as_float(a[l]), o) << 16 | finish<H>(as_float(b[l]), o);
  });
}

template <class H, bool packed>
Execute arithmetic_of(const LaneKey& k) {
  using ptx::Opcode;
  switch (k.opcode) {
    case Opcode::add:
      return arithmetic<H, Form::add, packed>;
    case Opcode::sub:
      return arithmetic<H, Form::sub, packed>;
    case Opcode::mul:
      return arithmetic<H, Form::mul, packed>;
    case Opcode::fma:
      return arithmetic<H, Form::fma, packed>;
    case Opcode::neg:
      return sign_change<H, packed, true>;
    case Opcode::abs:
      return sign_change<H, packed, false>;
    case Opcode::min:
      return extremum_kernel<H, false, packed>;
    case Opcode::max:
      return extremum_kernel<H, true, packed>;
    default:
      return nullptr;
  }
}
Execute find_half_convert(const LaneKey& k) {
  using ptx::Type;
  if (k.type == Type::f32 && !k.sat && !k.ftz && k.rounding == ptx::Rounding::none) {
    if (k.source == Type::f16) return to_f32<F16>;
    return k.source == Type::bf16 ? to_f32<BF16> : nullptr;
  }
  if (k.source != Type::f32 || k.rounding != ptx::Rounding::rn) return nullptr;
  switch (k.type) {
    case Type::f16:
      return from_f32<F16>;
    case Type::bf16:
      return from_f32<BF16>;
    case Type::f16x2:
      return pair_from_f32<F16>;
    case Type::bf16x2:
      return pair_from_f32<BF16>;
    default:
      return nullptr;
  }
}

}  // namespace

Execute find_half(const LaneKey& k) {
  if (k.opcode == ptx::Opcode::cvt) return find_half_convert(k);
  switch (k.type) {
    case ptx::Type::f16:
      return arithmetic_of<F16, false>(k);
    case ptx::Type::f16x2:
      return arithmetic_of<F16, true>(k);
    case ptx::Type::bf16:
      return arithmetic_of<BF16, false>(k);
    case ptx::Type::bf16x2:
      return arithmetic_of<BF16, true>(k);
    default:
      return nullptr;
  }
}

}  // namespace tilescope::emulator::TILESCOPE_LANES
