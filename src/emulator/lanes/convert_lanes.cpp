// Conversions (cvt) among integers, f32 and f64. Those of 16 bits and fewer are in half.cpp and in
// instructions/convert.cpp.
#include "emulator/lanes/real_values.hpp"

namespace tilescope::emulator::TILESCOPE_LANES {
namespace {

// --- integer to integer
// ---------------------------------------------------------------------------

template <class V, class S>
void extend(Context& w, const Code& c) {  // no saturation, S no narrower than V's slot
  const auto* a = slots<Slot<V>>(w, c.a);
  const S keep = static_cast<S>(c.offset);  // the bits of the destination register
  each_lane<S>(w, c.dst, [&](int l) {
    return static_cast<S>(static_cast<std::int64_t>(static_cast<V>(a[l]))) & keep;
  });
}
void truncate_64_to_32(Context& w, const Code& c) {
  const std::uint64_t* a = slots<std::uint64_t>(w, c.a);
  each_lane<std::uint32_t>(w, c.dst, [&](int l) { return static_cast<std::uint32_t>(a[l]); });
}
/// Any other: through 64 bits. aux: width of the destination type in bits, bit 8 its sign, bit 9
/// saturation, bit 10 the sign of the source; `offset` the bits that the register has.
template <class V, class S>
void integer(Context& w, const Code& c) {
  const auto* a = slots<Slot<V>>(w, c.a);
  const unsigned bits = c.aux & 0xff;
  const bool to_signed = (c.aux & 0x100) != 0, sat = (c.aux & 0x200) != 0;
  constexpr bool from_signed = static_cast<V>(-1) < static_cast<V>(0);
  const unsigned shift = 64 - bits;
  const std::int64_t highest = static_cast<std::int64_t>(~std::uint64_t{0} >> (shift + 1));
  const std::int64_t lowest = to_signed ? -highest - 1 : 0;
  const std::uint64_t top =
      to_signed ? static_cast<std::uint64_t>(highest) : ~std::uint64_t{0} >> shift;
  const S keep = static_cast<S>(c.offset);
  each_lane<S>(w, c.dst, [&](int l) {
    std::uint64_t v = static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<V>(a[l])));
    if (sat) {
      if (from_signed && static_cast<std::int64_t>(v) < 0) {
        v = static_cast<std::int64_t>(v) < lowest ? static_cast<std::uint64_t>(lowest) : v;
      } else {
        v = v > top ? top : v;
      }
    }
    v <<= shift;
    v = to_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(v) >> shift) : v >> shift;
    return static_cast<S>(v) & keep;
  });
}

// --- real to real
// ---------------------------------------------------------------------------------

struct AsIs {
  template <class V>
  TILESCOPE_INLINE V f(V v) {
    return v;
  }
};
struct Nearest {
  TILESCOPE_INLINE float f(float v) { return __builtin_nearbyintf(v); }
  TILESCOPE_INLINE double f(double v) { return __builtin_nearbyint(v); }
};
struct Truncated {
  TILESCOPE_INLINE float f(float v) { return __builtin_truncf(v); }
  TILESCOPE_INLINE double f(double v) { return __builtin_trunc(v); }
};
struct Floor {
  TILESCOPE_INLINE float f(float v) { return __builtin_floorf(v); }
  TILESCOPE_INLINE double f(double v) { return __builtin_floor(v); }
};
struct Ceiling {
  TILESCOPE_INLINE float f(float v) { return __builtin_ceilf(v); }
  TILESCOPE_INLINE double f(double v) { return __builtin_ceil(v); }
};

template <class To, class From, class Round, bool ftz, bool sat>
void real_to_real(Context& w, const Code& c) {
  const auto* a = slots<Slot<From>>(w, c.a);
  each_lane<Slot<To>>(w, c.dst, [&](int l) {
    return output<ftz, sat>(static_cast<To>(Round::f(input<ftz>(a[l]))));
  });
}

// --- integer to real and back
// ---------------------------------------------------------------------

template <class To, class From, bool sat>
void integer_to_real(Context& w, const Code& c) {
  const auto* a = slots<Slot<From>>(w, c.a);
  each_lane<Slot<To>>(w, c.dst, [&](int l) {
    return output<false, sat>(static_cast<To>(static_cast<From>(a[l])));
  });
}

/// Clamps to the range of To. NaN gives 0; with a 64-bit type on either side the lowest value of a
/// signed type and half the range of an unsigned one.
template <class To, class From, class Round, bool ftz, class S>
void real_to_integer(Context& w, const Code& c) {
  const auto* a = slots<Slot<From>>(w, c.a);
  constexpr bool is_signed = static_cast<To>(-1) < static_cast<To>(0);
  constexpr int width = static_cast<int>(sizeof(To)) * 8;
  constexpr std::uint64_t high_bit = std::uint64_t{1} << (width - 1);
  constexpr std::uint64_t ones = ~std::uint64_t{0} >> (64 - width);
  constexpr std::uint64_t highest = is_signed ? high_bit - 1 : ones;
  constexpr std::uint64_t lowest = is_signed ? ~(high_bit - 1) : 0;
  constexpr std::uint64_t of_nan =
      sizeof(To) == 8 || sizeof(From) == 8 ? (is_signed ? ~(high_bit - 1) : high_bit) : 0;
  // 2^width or 2^(width-1): the first value too large, exact in any real type.
  constexpr double limit =
      is_signed ? static_cast<double>(high_bit) : 2.0 * static_cast<double>(high_bit);
  const S keep = static_cast<S>(c.offset);
  each_lane<S>(w, c.dst, [&](int l) {
    const double v = static_cast<double>(Round::f(input<ftz>(a[l])));
    const bool small = is_signed ? v < -limit : v < 0, large = v >= limit;
    const double safe = small || large || v != v ? 0 : v;
    std::uint64_t r;
    if constexpr (sizeof(To) < 4) {
      r = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(safe)});
    } else if constexpr (is_signed || sizeof(To) == 4) {
      r = static_cast<std::uint64_t>(static_cast<std::int64_t>(safe));
    } else {
      r = static_cast<std::uint64_t>(safe);
    }
    r = small ? lowest : large ? highest : v != v ? of_nan : r;
    return static_cast<S>(r) & keep;
  });
}

template <class To, class From>
Execute narrow(const LaneKey& k) {  // between the two widths, in the CPU's rounding mode
  const auto choose = [&](auto ftz, auto sat) {
    return with_rounding<real_to_real<To, From, AsIs, ftz.value, sat.value>>(k.rounding);
  };
  return for_flags(choose, k.ftz, k.sat);
}
template <class V, class Round>
Execute same_rounded(const LaneKey& k) {
  const auto choose = [](auto ftz, auto sat) -> Execute {
    return real_to_real<V, V, Round, ftz.value, sat.value>;
  };
  return for_flags(choose, k.ftz, k.sat);
}
template <class V>
Execute same(const LaneKey& k) {
  switch (k.rounding) {
    case ptx::Rounding::rni:
      return same_rounded<V, Nearest>(k);
    case ptx::Rounding::rzi:
      return same_rounded<V, Truncated>(k);
    case ptx::Rounding::rmi:
      return same_rounded<V, Floor>(k);
    case ptx::Rounding::rpi:
      return same_rounded<V, Ceiling>(k);
    default:
      return same_rounded<V, AsIs>(k);
  }
}

template <class To, class From>
Execute to_real(const LaneKey& k) {
  return k.sat ? with_rounding<integer_to_real<To, From, true>>(k.rounding)
               : with_rounding<integer_to_real<To, From, false>>(k.rounding);
}
template <class To>
Execute integer_source(const LaneKey& k) {
  return for_8_to_64(k.source, [&](auto v) { return to_real<To, typename decltype(v)::type>(k); });
}
template <class To, class From, class Round, bool ftz>
Execute to_integer_width(const LaneKey& k) {
  if (k.width == 8) return real_to_integer<To, From, Round, ftz, std::uint64_t>;
  return real_to_integer<To, From, Round, ftz, std::uint32_t>;
}
template <class To, class From, bool ftz>
Execute to_integer(const LaneKey& k) {
  switch (k.rounding) {
    case ptx::Rounding::rni:
      return to_integer_width<To, From, Nearest, ftz>(k);
    case ptx::Rounding::rzi:
      return to_integer_width<To, From, Truncated, ftz>(k);
    case ptx::Rounding::rmi:
      return to_integer_width<To, From, Floor, ftz>(k);
    case ptx::Rounding::rpi:
      return to_integer_width<To, From, Ceiling, ftz>(k);
    default:
      return nullptr;
  }
}
template <class From, bool ftz>
Execute integer_destination(const LaneKey& k) {
  return for_8_to_64(k.type,
                     [&](auto v) { return to_integer<typename decltype(v)::type, From, ftz>(k); });
}

bool is_integer(ptx::Type t) {
  const auto any = [](auto) -> Execute { return truncate_64_to_32; };
  return for_8_to_64(t, any) != nullptr;
}
template <class V>
Execute integer_of(const LaneKey& k) {
  if (k.width == 8) return integer<V, std::uint64_t>;
  return integer<V, std::uint32_t>;
}
Execute find_integer_to_integer(const LaneKey& k) {
  using ptx::Type;
  if (!k.sat) {
    const bool from64 = k.source == Type::u64 || k.source == Type::s64;
    const bool to32 = k.type == Type::u32 || k.type == Type::s32;
    const bool to64 = k.type == Type::u64 || k.type == Type::s64;
    if (from64 && to32 && k.width == 4) return truncate_64_to_32;
    if (k.source == Type::u32 && to64) return extend<std::uint32_t, std::uint64_t>;
    if (k.source == Type::s32 && to64) return extend<std::int32_t, std::uint64_t>;
  }
  return for_8_to_64(k.source, [&](auto v) { return integer_of<typename decltype(v)::type>(k); });
}

}  // namespace

Execute find_convert(const LaneKey& k) {
  using ptx::Type;
  if (k.opcode != ptx::Opcode::cvt) return nullptr;
  const bool to_int = is_integer(k.type), from_int = is_integer(k.source);
  if (to_int && from_int) return find_integer_to_integer(k);
  if (from_int) {
    if (k.type == Type::f32) return integer_source<float>(k);
    return k.type == Type::f64 ? integer_source<double>(k) : nullptr;
  }
  if (to_int) {
    if (k.source == Type::f64) return integer_destination<double, false>(k);
    if (k.source != Type::f32) return nullptr;
    return k.ftz ? integer_destination<float, true>(k) : integer_destination<float, false>(k);
  }
  if (k.type == Type::f32 && k.source == Type::f32) return same<float>(k);
  if (k.type == Type::f64 && k.source == Type::f64) return same<double>(k);
  if (k.type == Type::f32 && k.source == Type::f64) return narrow<float, double>(k);
  if (k.type == Type::f64 && k.source == Type::f32) return narrow<double, float>(k);
  return nullptr;
}

}  // namespace tilescope::emulator::TILESCOPE_LANES
