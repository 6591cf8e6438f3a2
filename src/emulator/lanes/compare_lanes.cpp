// Comparisons (setp, set) and selections (selp, slct).
#include "emulator/lanes/real_values.hpp"

namespace tilescope::emulator::TILESCOPE_LANES {
namespace {

template <class V, bool ftz>
TILESCOPE_INLINE V value(Slot<V> bits) {
  if constexpr (static_cast<V>(0.5) == 0) {
    return static_cast<V>(bits);
  } else {
    return input<ftz>(bits);
  }
}

// clang-format off
struct Eq { template <class V> TILESCOPE_INLINE bool f(V a, V b) { return a == b; } };
struct Lt { template <class V> TILESCOPE_INLINE bool f(V a, V b) { return a < b; } };
struct Le { template <class V> TILESCOPE_INLINE bool f(V a, V b) { return a <= b; } };
struct Gt { template <class V> TILESCOPE_INLINE bool f(V a, V b) { return a > b; } };
struct Ge { template <class V> TILESCOPE_INLINE bool f(V a, V b) { return a >= b; } };
struct Ordered { template <class V> TILESCOPE_INLINE bool f(V a, V b) { return a == a && b == b; } };
// Not equal and not unordered.
struct Differs { template <class V> TILESCOPE_INLINE bool f(V a, V b) { return a < b || a > b; } };
// clang-format on

/// Every comparison is one of the above or its opposite: the opposite of an ordered comparison is
/// an unordered one. `Code::aux` carries the flip.
template <class Op, class V, bool ftz>
TILESCOPE_INLINE std::uint32_t compared(Context& w, const Code& c) {
  const auto* a = slots<Slot<V>>(w, c.a);
  const auto* b = slots<Slot<V>>(w, c.b);
  return lanes_where([&](int l) { return Op::f(value<V, ftz>(a[l]), value<V, ftz>(b[l])); });
}

TILESCOPE_INLINE std::uint32_t join(ptx::BoolOp op, std::uint32_t x, std::uint32_t y) {
  switch (op) {
    case ptx::BoolOp::and_:
      return x & y;
    case ptx::BoolOp::or_:
      return x | y;
    case ptx::BoolOp::xor_:
      return x ^ y;
    default:
      return x;
  }
}

// aux: bit 0 flips the comparison, bits 8.. are the BoolOp that joins it with predicate c.
template <class Op, class V, bool ftz>
void setp(Context& w, const Code& c) {
  const std::uint32_t flip = (c.aux & 1) != 0 ? ~0u : 0u;
  const std::uint32_t m = compared<Op, V, ftz>(w, c) ^ flip;
  const auto op = static_cast<ptx::BoolOp>(c.aux >> 8);
  if (op == ptx::BoolOp::none) {
    set_predicate(w, c.dst, m);
    if (c.dst2 != kSinkOffset) set_predicate(w, c.dst2, ~m);
    return;
  }
  const std::uint32_t q = predicate(w, c.c) ^ c.c_flip;
  set_predicate(w, c.dst, join(op, m, q));
  if (c.dst2 != kSinkOffset) set_predicate(w, c.dst2, join(op, ~m, q));
}

// bit 1 of aux: the result is 1.0f instead of all ones.
template <class Op, class V, bool ftz>
void set(Context& w, const Code& c) {
  const std::uint32_t flip = (c.aux & 1) != 0 ? ~0u : 0u;
  std::uint32_t m = compared<Op, V, ftz>(w, c) ^ flip;
  const auto op = static_cast<ptx::BoolOp>(c.aux >> 8);
  if (op != ptx::BoolOp::none) m = join(op, m, predicate(w, c.c) ^ c.c_flip);
  const std::uint32_t yes = (c.aux & 2) != 0 ? 0x3f800000u : 0xffffffffu;
  each_lane<std::uint32_t>(w, c.dst, [&](int l) { return (m >> l & 1) != 0 ? yes : 0u; });
}

template <class S>
void selp(Context& w, const Code& c) {
  const S* a = slots<S>(w, c.a);
  const S* b = slots<S>(w, c.b);
  const std::uint32_t p = predicate(w, c.c) ^ c.c_flip;
  each_lane<S>(w, c.dst, [&](int l) { return (p >> l & 1) != 0 ? a[l] : b[l]; });
}
template <class S, bool real, bool ftz>
void slct(Context& w, const Code& c) {
  const S* a = slots<S>(w, c.a);
  const S* b = slots<S>(w, c.b);
  const std::uint32_t* s = slots<std::uint32_t>(w, c.c);
  each_lane<S>(w, c.dst, [&](int l) {
    const bool first = real ? value<float, ftz>(s[l]) >= 0 : static_cast<std::int32_t>(s[l]) >= 0;
    return first ? a[l] : b[l];
  });
}

template <class V, bool ftz, bool as_set>
Execute comparison_of(ptx::Compare compare) {
  using ptx::Compare;
  switch (compare) {
    case Compare::eq:
    case Compare::neu:
      return as_set ? set<Eq, V, ftz> : setp<Eq, V, ftz>;
    case Compare::ne:
    case Compare::equ:
      return as_set ? set<Differs, V, ftz> : setp<Differs, V, ftz>;
    case Compare::lt:
    case Compare::lo:
    case Compare::geu:
      return as_set ? set<Lt, V, ftz> : setp<Lt, V, ftz>;
    case Compare::le:
    case Compare::ls:
    case Compare::gtu:
      return as_set ? set<Le, V, ftz> : setp<Le, V, ftz>;
    case Compare::gt:
    case Compare::hi:
    case Compare::leu:
      return as_set ? set<Gt, V, ftz> : setp<Gt, V, ftz>;
    case Compare::ge:
    case Compare::hs:
    case Compare::ltu:
      return as_set ? set<Ge, V, ftz> : setp<Ge, V, ftz>;
    case Compare::num:
    case Compare::nan:
      return as_set ? set<Ordered, V, ftz> : setp<Ordered, V, ftz>;
    default:
      return nullptr;
  }
}
template <bool as_set>
Execute comparison(ptx::Type type, ptx::Compare compare, bool ftz) {
  using ptx::Type;
  switch (type) {
    case Type::b16:
      return comparison_of<std::uint16_t, false, as_set>(compare);
    case Type::b32:
      return comparison_of<std::uint32_t, false, as_set>(compare);
    case Type::b64:
      return comparison_of<std::uint64_t, false, as_set>(compare);
    case Type::f32:
      return ftz ? comparison_of<float, true, as_set>(compare)
                 : comparison_of<float, false, as_set>(compare);
    case Type::f64:
      return comparison_of<double, false, as_set>(compare);
    default:
      return for_16_to_64(type, [&](auto v) {
        return comparison_of<typename decltype(v)::type, false, as_set>(compare);
      });
  }
}

}  // namespace

Execute find_compare(const LaneKey& k) {
  using ptx::Opcode;
  switch (k.opcode) {
    case Opcode::setp:
      return comparison<false>(k.source, k.compare, k.ftz);
    case Opcode::set:
      return comparison<true>(k.source, k.compare, k.ftz);
    case Opcode::selp:
      return k.width == 8 ? selp<std::uint64_t> : selp<std::uint32_t>;
    case Opcode::slct:
      if (k.source == ptx::Type::f32) {
        if (k.ftz)
          return k.width == 8 ? slct<std::uint64_t, true, true> : slct<std::uint32_t, true, true>;
        return k.width == 8 ? slct<std::uint64_t, true, false> : slct<std::uint32_t, true, false>;
      }
      return k.width == 8 ? slct<std::uint64_t, false, false> : slct<std::uint32_t, false, false>;
    default:
      return nullptr;
  }
}

}  // namespace tilescope::emulator::TILESCOPE_LANES
