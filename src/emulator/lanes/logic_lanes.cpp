// Bitwise logic, shifts, bit fields and moves.
#include "emulator/lanes/lane_loop.hpp"

namespace tilescope::emulator::TILESCOPE_LANES {
namespace {

// clang-format off
struct And { template <class S> TILESCOPE_INLINE S f(S a, S b) { return a & b; } };
struct Or { template <class S> TILESCOPE_INLINE S f(S a, S b) { return a | b; } };
struct Xor { template <class S> TILESCOPE_INLINE S f(S a, S b) { return a ^ b; } };
// clang-format on

template <class Op, class S>
void binary(Context& w, const Code& c) {
  const S* a = slots<S>(w, c.a);
  const S* b = slots<S>(w, c.b);
  each_lane<S>(w, c.dst, [&](int l) { return Op::f(a[l], b[l]); });
}
template <class Op>
void binary_predicate(Context& w, const Code& c) {
  set_predicate(w, c.dst, Op::f(predicate(w, c.a) ^ c.a_flip, predicate(w, c.b) ^ c.b_flip));
}
template <class Op>
Execute binary_of(unsigned width) {
  return width == 0   ? binary_predicate<Op>
         : width == 8 ? static_cast<Execute>(binary<Op, std::uint64_t>)
                      : binary<Op, std::uint32_t>;
}

template <class S, std::uint32_t mask>
void complement(Context& w, const Code& c) {
  const S* a = slots<S>(w, c.a);
  each_lane<S>(w, c.dst, [&](int l) {
    return sizeof(S) == 8 ? static_cast<S>(~a[l]) : static_cast<S>(~a[l] & mask);
  });
}
void complement_predicate(Context& w, const Code& c) {
  set_predicate(w, c.dst, ~(predicate(w, c.a) ^ c.a_flip));
}
template <class S>
void is_zero(Context& w, const Code& c) {  // cnot
  const S* a = slots<S>(w, c.a);
  each_lane<S>(w, c.dst, [&](int l) { return S{a[l] == 0}; });
}

// Shifts by the width or more give 0, or copies of the sign.
template <class S, int width>
void shift_left(Context& w, const Code& c) {
  const S* a = slots<S>(w, c.a);
  const std::uint32_t* b = slots<std::uint32_t>(w, c.b);
  constexpr S keep = static_cast<S>(~S{0}) >> (sizeof(S) * 8 - width);
  each_lane<S>(w, c.dst, [&](int l) {
    return b[l] >= width ? S{0} : static_cast<S>((a[l] << (b[l] & (width - 1))) & keep);
  });
}
template <class S, int width>
void shift_right(Context& w, const Code& c) {
  const S* a = slots<S>(w, c.a);
  const std::uint32_t* b = slots<std::uint32_t>(w, c.b);
  each_lane<S>(w, c.dst, [&](int l) {
    return b[l] >= width ? S{0} : static_cast<S>(a[l] >> (b[l] & (width - 1)));
  });
}
template <class V>
void shift_right_signed(Context& w, const Code& c) {
  using S = Slot<V>;
  constexpr std::uint32_t last = sizeof(V) * 8 - 1;
  const S* a = slots<S>(w, c.a);
  const std::uint32_t* b = slots<std::uint32_t>(w, c.b);
  each_lane<S>(w, c.dst, [&](int l) {
    return put(static_cast<V>(get<V>(a[l]) >> (b[l] > last ? last : b[l])));
  });
}
// shf: the 64 bits b:a shifted; clamp takes amounts above 32 as 32, wrap takes them modulo 32.
template <bool left, bool clamp>
void funnel(Context& w, const Code& c) {
  const std::uint32_t* a = slots<std::uint32_t>(w, c.a);
  const std::uint32_t* b = slots<std::uint32_t>(w, c.b);
  const std::uint32_t* n = slots<std::uint32_t>(w, c.c);
  each_lane<std::uint32_t>(w, c.dst, [&](int l) {
    const std::uint32_t by = clamp ? (n[l] > 32 ? 32 : n[l]) : (n[l] & 31);
    const std::uint64_t joined = (std::uint64_t{b[l]} << 32) | a[l];
    return static_cast<std::uint32_t>(left ? (joined << by) >> 32 : joined >> by);
  });
}

// lop3: aux is the truth table; bit i of it is the result where a, b, c are the bits of i.
void lop3(Context& w, const Code& c) {
  const std::uint32_t* a = slots<std::uint32_t>(w, c.a);
  const std::uint32_t* b = slots<std::uint32_t>(w, c.b);
  const std::uint32_t* d = slots<std::uint32_t>(w, c.c);
  std::uint32_t t[8];
  for (int i = 0; i < 8; ++i) t[i] = (c.aux >> i & 1) != 0 ? ~0u : 0u;
  each_lane<std::uint32_t>(w, c.dst, [&](int l) {
    const std::uint32_t x = a[l], y = b[l], z = d[l];
    const std::uint32_t without =
        (~y & ((~z & t[0]) | (z & t[1]))) | (y & ((~z & t[2]) | (z & t[3])));
    const std::uint32_t with = (~y & ((~z & t[4]) | (z & t[5]))) | (y & ((~z & t[6]) | (z & t[7])));
    return (~x & without) | (x & with);
  });
}

// Bit fields: position and length are taken modulo 256; bits beyond the width are the sign or 0.
template <class S, bool is_signed>
void extract(Context& w, const Code& c) {
  constexpr std::uint32_t width = sizeof(S) * 8;
  const S* a = slots<S>(w, c.a);
  const std::uint32_t* b = slots<std::uint32_t>(w, c.b);
  const std::uint32_t* n = slots<std::uint32_t>(w, c.c);
  each_lane<S>(w, c.dst, [&](int l) {
    const std::uint32_t position = b[l] & 255, length = n[l] & 255;
    const S field = position >= width ? S{0} : static_cast<S>(a[l] >> (position & (width - 1)));
    const S keep = length >= width ? ~S{0} : (S{1} << (length & (width - 1))) - 1;
    // The sign is the highest bit of the field, or of the operand where the field reaches beyond.
    const std::uint32_t top = position + length - 1 < width - 1 ? position + length - 1 : width - 1;
    const S sign = is_signed && length != 0 ? (a[l] >> (top & (width - 1))) & 1 : S{0};
    // Where the field reaches beyond the operand, only its low width - position bits are there.
    const std::uint32_t there = position >= width ? 0 : width - position;
    const S present = there >= width ? ~S{0} : (S{1} << (there & (width - 1))) - 1;
    const S valid = keep & present;
    return static_cast<S>((field & valid) | (sign != 0 ? ~valid : S{0}));
  });
}
template <class S>
void insert(Context& w, const Code& c) {  // list[0]: length
  constexpr std::uint32_t width = sizeof(S) * 8;
  const S* a = slots<S>(w, c.a);
  const S* into = slots<S>(w, c.b);
  const std::uint32_t* at = slots<std::uint32_t>(w, c.c);
  const std::uint32_t* n = slots<std::uint32_t>(w, c.list[0]);
  each_lane<S>(w, c.dst, [&](int l) {
    const std::uint32_t position = at[l] & 255, length = n[l] & 255;
    const S ones = length >= width ? ~S{0} : (S{1} << (length & (width - 1))) - 1;
    const S field = position >= width ? S{0} : static_cast<S>(ones << (position & (width - 1)));
    const S moved = position >= width ? S{0} : static_cast<S>(a[l] << (position & (width - 1)));
    return static_cast<S>((into[l] & ~field) | (moved & field));
  });
}

template <class S>
void population(Context& w, const Code& c) {
  const S* a = slots<S>(w, c.a);
  each_lane<std::uint32_t>(
      w, c.dst, [&](int l) { return static_cast<std::uint32_t>(__builtin_popcountll(a[l])); });
}
template <class S>
void leading_zeros(Context& w, const Code& c) {
  const S* a = slots<S>(w, c.a);
  constexpr int excess = 64 - static_cast<int>(sizeof(S)) * 8;
  each_lane<std::uint32_t>(w, c.dst, [&](int l) {
    const std::uint64_t v = a[l];
    return static_cast<std::uint32_t>((v == 0 ? 64 : __builtin_clzll(v | 1)) - excess);
  });
}
template <class S>
void reverse(Context& w, const Code& c) {
  const S* a = slots<S>(w, c.a);
  each_lane<S>(w, c.dst, [&](int l) {
    std::uint64_t v = a[l];
    v = ((v >> 1) & 0x5555555555555555u) | ((v & 0x5555555555555555u) << 1);
    v = ((v >> 2) & 0x3333333333333333u) | ((v & 0x3333333333333333u) << 2);
    v = ((v >> 4) & 0x0f0f0f0f0f0f0f0fu) | ((v & 0x0f0f0f0f0f0f0f0fu) << 4);
    v = __builtin_bswap64(v);
    return static_cast<S>(v >> (64 - sizeof(S) * 8));
  });
}
// The highest bit that differs from the sign (the highest 1 for unsigned); -1 if there is none.
// aux: the shift amount that would bring it to the top instead.
template <class V>
void find_top(Context& w, const Code& c) {
  using S = Slot<V>;
  const S* a = slots<S>(w, c.a);
  constexpr std::uint32_t top = sizeof(V) * 8 - 1;
  const bool amount = c.aux != 0;
  each_lane<std::uint32_t>(w, c.dst, [&](int l) {
    const V v = get<V>(a[l]);
    const std::uint64_t u = static_cast<S>(v < 0 ? ~v : v);
    if (u == 0) return ~0u;
    const std::uint32_t position = 63 - static_cast<std::uint32_t>(__builtin_clzll(u));
    return amount ? top - position : position;
  });
}

// prmt, default mode: each nibble of the selector picks one of eight bytes; its top bit replicates
// the byte's sign.
void permute(Context& w, const Code& c) {
  const std::uint32_t* a = slots<std::uint32_t>(w, c.a);
  const std::uint32_t* b = slots<std::uint32_t>(w, c.b);
  const std::uint32_t* s = slots<std::uint32_t>(w, c.c);
  each_lane<std::uint32_t>(w, c.dst, [&](int l) {
    const std::uint64_t bytes = (std::uint64_t{b[l]} << 32) | a[l];
    std::uint32_t r = 0;
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t select = s[l] >> (4 * i);
      std::uint32_t byte = static_cast<std::uint32_t>(bytes >> (8 * (select & 7))) & 0xff;
      const std::uint32_t sign = (byte & 0x80) != 0 ? 0xffu : 0u;
      byte = (select & 8) != 0 ? sign : byte;
      r |= byte << (8 * i);
    }
    return r;
  });
}

template <class S>
void move(Context& w, const Code& c) {
  const S* a = slots<S>(w, c.a);
  each_lane<S>(w, c.dst, [&](int l) { return a[l]; });
}
void move_predicate(Context& w, const Code& c) {
  set_predicate(w, c.dst, predicate(w, c.a) ^ c.a_flip);
}
// Adds a constant: cvta between a window and its space.
void add_constant(Context& w, const Code& c) {
  const std::uint64_t* a = slots<std::uint64_t>(w, c.a);
  const auto offset = static_cast<std::uint64_t>(c.offset);
  each_lane<std::uint64_t>(w, c.dst, [&](int l) { return a[l] + offset; });
}

unsigned bits(ptx::Type t) {
  using ptx::Type;
  switch (t) {
    case Type::b16:
    case Type::u16:
    case Type::s16:
      return 16;
    case Type::b64:
    case Type::u64:
    case Type::s64:
      return 64;
    default:
      return 32;
  }
}

Execute find_shift(const LaneKey& k) {
  const unsigned width = bits(k.type);
  if (k.opcode == ptx::Opcode::shl) {
    return width == 16   ? shift_left<std::uint32_t, 16>
           : width == 64 ? static_cast<Execute>(shift_left<std::uint64_t, 64>)
                         : shift_left<std::uint32_t, 32>;
  }
  switch (k.type) {
    case ptx::Type::s16:
      return shift_right_signed<std::int16_t>;
    case ptx::Type::s32:
      return shift_right_signed<std::int32_t>;
    case ptx::Type::s64:
      return shift_right_signed<std::int64_t>;
    default:
      return width == 16   ? shift_right<std::uint32_t, 16>
             : width == 64 ? static_cast<Execute>(shift_right<std::uint64_t, 64>)
                           : shift_right<std::uint32_t, 32>;
  }
}

}  // namespace

Execute find_logic(const LaneKey& k) {
  using ptx::Opcode;
  const bool wide = bits(k.type) == 64;
  switch (k.opcode) {
    case Opcode::and_:
      return binary_of<And>(k.width);
    case Opcode::or_:
      return binary_of<Or>(k.width);
    case Opcode::xor_:
      return binary_of<Xor>(k.width);
    case Opcode::not_:
      if (k.width == 0) return complement_predicate;
      if (k.width == 8) return complement<std::uint64_t, 0>;
      return bits(k.type) == 16 ? complement<std::uint32_t, 0xffff>
                                : complement<std::uint32_t, ~0u>;
    case Opcode::cnot:
      return wide ? is_zero<std::uint64_t> : is_zero<std::uint32_t>;
    case Opcode::shl:
    case Opcode::shr:
      return find_shift(k);
    case Opcode::shf:
      return for_flags(
          [](auto left, auto clamp) -> Execute { return funnel<left.value, clamp.value>; },
          k.shift_direction == ptx::ShiftDirection::left, k.shift_mode == ptx::ShiftMode::clamp);
    case Opcode::lop3:
      return lop3;
    case Opcode::bfe:
      return for_32_and_64(k.type, [](auto v) -> Execute {
        using V = typename decltype(v)::type;
        return extract<Slot<V>, static_cast<V>(-1) < static_cast<V>(0)>;
      });
    case Opcode::bfi:
      return wide ? insert<std::uint64_t> : insert<std::uint32_t>;
    case Opcode::popc:
      return wide ? population<std::uint64_t> : population<std::uint32_t>;
    case Opcode::clz:
      return wide ? leading_zeros<std::uint64_t> : leading_zeros<std::uint32_t>;
    case Opcode::brev:
      return wide ? reverse<std::uint64_t> : reverse<std::uint32_t>;
    case Opcode::bfind:
      return for_32_and_64(k.type,
                           [](auto v) -> Execute { return find_top<typename decltype(v)::type>; });
    case Opcode::prmt:
      return permute;
    case Opcode::mov:
      return k.width == 0   ? move_predicate
             : k.width == 8 ? static_cast<Execute>(move<std::uint64_t>)
                            : move<std::uint32_t>;
    case Opcode::cvta:
      return add_constant;
    default:
      return nullptr;
  }
}

}  // namespace tilescope::emulator::TILESCOPE_LANES
