// Integer arithmetic.
#include "emulator/lanes/integer_operations.hpp"

namespace tilescope::emulator::TILESCOPE_LANES {
namespace {

template <class Op, class V>
void unary(Context& w, const Code& c) {
  const auto* a = slots<Slot<V>>(w, c.a);
  each_lane<Slot<V>>(w, c.dst, [&](int l) { return put(Op::template f<V>(get<V>(a[l]))); });
}
template <class Op, class V>
void binary(Context& w, const Code& c) {
  const auto* a = slots<Slot<V>>(w, c.a);
  const auto* b = slots<Slot<V>>(w, c.b);
  each_lane<Slot<V>>(w, c.dst,
                     [&](int l) { return put(Op::template f<V>(get<V>(a[l]), get<V>(b[l]))); });
}
template <class Op, class V>
void ternary(Context& w, const Code& c) {
  const auto* a = slots<Slot<V>>(w, c.a);
  const auto* b = slots<Slot<V>>(w, c.b);
  const auto* d = slots<Slot<V>>(w, c.c);
  each_lane<Slot<V>>(w, c.dst, [&](int l) {
    return put(Op::template f<V>(get<V>(a[l]), get<V>(b[l]), get<V>(d[l])));
  });
}
template <class V>
void mul_wide(Context& w, const Code& c) {
  const auto* a = slots<Slot<V>>(w, c.a);
  const auto* b = slots<Slot<V>>(w, c.b);
  using W = Wide<V>;
  each_lane<Slot<W>>(w, c.dst,
                     [&](int l) { return put(static_cast<W>(W{get<V>(a[l])} * W{get<V>(b[l])})); });
}
template <class V>
void mad_wide(Context& w, const Code& c) {
  const auto* a = slots<Slot<V>>(w, c.a);
  const auto* b = slots<Slot<V>>(w, c.b);
  using W = Wide<V>;
  const auto* d = slots<Slot<W>>(w, c.c);
  each_lane<Slot<W>>(w, c.dst, [&](int l) {
    return put(Add::f<W>(static_cast<W>(W{get<V>(a[l])} * W{get<V>(b[l])}), get<W>(d[l])));
  });
}

// --- carry chains: the condition code is one predicate of the frame
// --------------------------------

/// d = x + y + carry-in and the carry-out, lane by lane. Subtraction adds the complement: the flag
/// then means "no borrow", as on the chip, and begins as one.
template <class U, class X, class Y>
TILESCOPE_INLINE void add_chain(Context& w, const Code& c, bool use_in, bool set_out, bool subtract,
                                X x, Y y) {
  U* d = slots<U>(w, c.dst);
  const std::uint32_t carry_in = use_in ? predicate(w, kCarryOffset) : subtract ? ~0u : 0u;
  std::uint32_t out = 0;
  for (int l = 0; l < 32; ++l) {
    const U a = x(l), b = y(l);
    const U partial = a + b;
    const U sum = partial + (carry_in >> l & 1);
    const bool carry = partial < a || sum < partial;
    out |= static_cast<std::uint32_t>(carry) << l;
    if ((w.mask >> l & 1) != 0) d[l] = sum;
  }
  if (set_out) set_predicate(w, kCarryOffset, out);
}
template <class U, bool use_in, bool set_out, bool subtract>
void carry_sum(Context& w, const Code& c) {
  const U* a = slots<U>(w, c.a);
  const U* b = slots<U>(w, c.b);
  add_chain<U>(
      w, c, use_in, set_out, subtract, [&](int l) { return a[l]; },
      [&](int l) { return subtract ? static_cast<U>(~b[l]) : b[l]; });
}
template <class V, bool high, bool use_in, bool set_out>
void carry_mad(Context& w, const Code& c) {
  using U = Slot<V>;
  const U* a = slots<U>(w, c.a);
  const U* b = slots<U>(w, c.b);
  const U* d = slots<U>(w, c.c);
  add_chain<U>(
      w, c, use_in, set_out, false,
      [&](int l) {
        const V x = get<V>(a[l]), y = get<V>(b[l]);
        return high ? put(MulHi::f<V>(x, y)) : put(MulLo::f<V>(x, y));
      },
      [&](int l) { return d[l]; });
}

// --- dot products of bytes and halves
// -------------------------------------------------------------

/// The sum of c and the products of a's elements, of type A, with as many bytes of b, of type B.
template <class A, class B, bool high>
void dot_product(Context& w, const Code& c) {
  const std::uint32_t* a = slots<std::uint32_t>(w, c.a);
  const std::uint32_t* b = slots<std::uint32_t>(w, c.b);
  const std::uint32_t* d = slots<std::uint32_t>(w, c.c);
  constexpr int bits = static_cast<int>(sizeof(A)) * 8;
  each_lane<std::uint32_t>(w, c.dst, [&](int l) {
    std::uint32_t sum = d[l];
    for (int i = 0; i < 32 / bits; ++i) {
      const std::int32_t x{static_cast<A>(a[l] >> (bits * i))};
      const std::int32_t y{static_cast<B>(b[l] >> (8 * i + (high ? 16 : 0)))};
      sum += static_cast<std::uint32_t>(x) * static_cast<std::uint32_t>(y);
    }
    return sum;
  });
}

template <class Op>
Execute binary_of(ptx::Type t) {
  return for_16_to_64(t, [](auto v) -> Execute { return binary<Op, typename decltype(v)::type>; });
}
template <class Op>
Execute ternary_of(ptx::Type t) {
  return for_16_to_64(t, [](auto v) -> Execute { return ternary<Op, typename decltype(v)::type>; });
}
template <class Op>
Execute unary_signed_of(ptx::Type t) {
  return for_integer<std::int16_t, std::int32_t, std::int64_t>(
      t, [](auto v) -> Execute { return unary<Op, typename decltype(v)::type>; });
}
template <class F>
Execute for_wide_factors(ptx::Type t, F choose) {
  return for_integer<std::uint16_t, std::int16_t, std::uint32_t, std::int32_t>(t, choose);
}

template <bool use_in, bool set_out, bool subtract>
Execute carry_of(ptx::Type t) {
  const bool wide = t == ptx::Type::u64 || t == ptx::Type::s64;
  return wide ? carry_sum<std::uint64_t, use_in, set_out, subtract>
              : carry_sum<std::uint32_t, use_in, set_out, subtract>;
}
Execute carry_mad_of(ptx::Type t, bool high, bool use_in, bool set_out) {
  const auto of_type = [&](auto v) {
    const auto choose = [](auto h, auto in, auto out) -> Execute {
      return carry_mad<typename decltype(v)::type, h.value, in.value, out.value>;
    };
    return for_flags(choose, high, use_in, set_out);
  };
  return for_32_and_64(t, of_type);
}
Execute find_mad(const LaneKey& k) {
  const bool high = k.part == ptx::Part::hi;
  const bool use_in = k.opcode == ptx::Opcode::madc;
  if (use_in || k.carry_out) return carry_mad_of(k.type, high, use_in, k.carry_out);
  if (k.part == ptx::Part::wide) {
    return for_wide_factors(k.type,
                            [](auto v) -> Execute { return mad_wide<typename decltype(v)::type>; });
  }
  if (high && k.sat) return k.type == ptx::Type::s32 ? ternary<MadHiSat, std::int32_t> : nullptr;
  return high ? ternary_of<MadHi>(k.type) : ternary_of<MadLo>(k.type);
}
Execute find_mul(const LaneKey& k) {
  if (k.part == ptx::Part::lo) return binary_of<MulLo>(k.type);
  if (k.part == ptx::Part::hi) return binary_of<MulHi>(k.type);
  return for_wide_factors(k.type,
                          [](auto v) -> Execute { return mul_wide<typename decltype(v)::type>; });
}
Execute find_24(const LaneKey& k) {
  const bool s = k.type == ptx::Type::s32, high = k.part == ptx::Part::hi;
  if (k.opcode == ptx::Opcode::mul24) {
    if (high) return s ? binary<Mul24Hi, std::int32_t> : binary<Mul24Hi, std::uint32_t>;
    return s ? binary<Mul24Lo, std::int32_t> : binary<Mul24Lo, std::uint32_t>;
  }
  if (high && k.sat) return s ? ternary<Mad24HiSat, std::int32_t> : nullptr;
  if (high) return s ? ternary<Mad24Hi, std::int32_t> : ternary<Mad24Hi, std::uint32_t>;
  return s ? ternary<Mad24Lo, std::int32_t> : ternary<Mad24Lo, std::uint32_t>;
}
template <class A, class B>
Execute dot_of(const LaneKey& k) {
  return k.part == ptx::Part::hi ? dot_product<A, B, true> : dot_product<A, B, false>;
}
template <class SignedA, class UnsignedA>
Execute find_dot(const LaneKey& k) {
  const bool signed_b = k.source == ptx::Type::s32;
  if (k.type == ptx::Type::s32) {
    return signed_b ? dot_of<SignedA, std::int8_t>(k) : dot_of<SignedA, std::uint8_t>(k);
  }
  return signed_b ? dot_of<UnsignedA, std::int8_t>(k) : dot_of<UnsignedA, std::uint8_t>(k);
}

}  // namespace

Execute find_integer(const LaneKey& k) {
  using ptx::Opcode;
  switch (k.opcode) {
    case Opcode::add:
      if (k.carry_out) return carry_of<false, true, false>(k.type);
      if (k.sat) return k.type == ptx::Type::s32 ? binary<AddSat, std::int32_t> : nullptr;
      return binary_of<Add>(k.type);
    case Opcode::sub:
      if (k.carry_out) return carry_of<false, true, true>(k.type);
      if (k.sat) return k.type == ptx::Type::s32 ? binary<SubSat, std::int32_t> : nullptr;
      return binary_of<Sub>(k.type);
    case Opcode::addc:
      return k.carry_out ? carry_of<true, true, false>(k.type)
                         : carry_of<true, false, false>(k.type);
    case Opcode::subc:
      return k.carry_out ? carry_of<true, true, true>(k.type) : carry_of<true, false, true>(k.type);
    case Opcode::mul:
      return find_mul(k);
    case Opcode::mad:
    case Opcode::madc:
      return find_mad(k);
    case Opcode::mul24:
    case Opcode::mad24:
      return find_24(k);
    case Opcode::sad:
      return ternary_of<Sad>(k.type);
    case Opcode::div:
      return binary_of<Div>(k.type);
    case Opcode::rem:
      return binary_of<Rem>(k.type);
    case Opcode::abs:
      return unary_signed_of<Abs>(k.type);
    case Opcode::neg:
      return unary_signed_of<Neg>(k.type);
    case Opcode::min:
      return binary_of<Min>(k.type);
    case Opcode::max:
      return binary_of<Max>(k.type);
    case Opcode::dp4a:
      return find_dot<std::int8_t, std::uint8_t>(k);
    case Opcode::dp2a:
      return find_dot<std::int16_t, std::uint16_t>(k);
    default:
      return nullptr;
  }
}

}  // namespace tilescope::emulator::TILESCOPE_LANES
