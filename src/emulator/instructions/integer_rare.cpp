// Integer operations that are too rare for lane kernels: fns, szext, bmsk, the other modes of prmt,
// lop3 with a predicate, packed 16-bit arithmetic, relu, cvt.pack.
#include <algorithm>
#include <bit>

#include "emulator/context.hpp"
#include "emulator/decoder.hpp"
#include "emulator/instructions/operands.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Type;

template <class F>
void each(Context& w, const Code& c, F f) {
  const std::uint32_t* a = r32(w, c.a);
  const std::uint32_t* b = r32(w, c.b);
  const std::uint32_t* d = r32(w, c.c);
  std::uint32_t* to = r32(w, c.dst);
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    to[lane] = f(a[lane], b[lane], d[lane]);
  }
}

/// The n-th set bit at or above (n > 0) or at or below (n < 0) position `base`; all ones if none.
std::uint32_t find_nth_set(std::uint32_t mask, std::uint32_t base, std::int32_t n) {
  if (base > 31) return ~0u;
  if (n == 0) return (mask >> base & 1) != 0 ? base : ~0u;
  const int step = n > 0 ? 1 : -1;
  std::int64_t left = n > 0 ? std::int64_t{n} : -std::int64_t{n};
  for (int position = static_cast<int>(base); position >= 0 && position < 32; position += step) {
    if ((mask >> position & 1) != 0 && --left == 0) return static_cast<std::uint32_t>(position);
  }
  return ~0u;
}
void fns(Context& w, const Code& c) {
  each(w, c, [](std::uint32_t mask, std::uint32_t base, std::uint32_t n) {
    return find_nth_set(mask, base, static_cast<std::int32_t>(n));
  });
}

// aux: bit 0 clamp (against wrap), bit 1 signed.
void sign_extend(Context& w, const Code& c) {
  const bool clamp = (c.aux & 1) != 0, is_signed = (c.aux & 2) != 0;
  each(w, c, [=](std::uint32_t a, std::uint32_t b, std::uint32_t) {
    if (clamp && b >= 32) return a;
    const std::uint32_t n = b & 31;
    if (n == 0) return 0u;
    const std::uint32_t kept = a & ((1u << n) - 1);
    const bool negative = is_signed && (a >> (n - 1) & 1) != 0;
    return negative ? kept | ~((1u << n) - 1) : kept;
  });
}

void bit_mask(Context& w, const Code& c) {
  const bool clamp = (c.aux & 1) != 0;
  each(w, c, [=](std::uint32_t a, std::uint32_t b, std::uint32_t) {
    const std::uint32_t start = clamp ? a : a & 31, length = clamp ? b : b & 31;
    if (start >= 32 || length == 0) return 0u;
    const std::uint32_t ones = length >= 32 ? ~0u : (1u << length) - 1;
    return ones << start;
  });
}

// prmt with a mode: the byte of b:a that byte i of the result takes.
std::uint32_t permuted_byte(ptx::PermuteMode mode, std::uint32_t selector, std::uint32_t i) {
  const std::uint32_t s = selector & 3;
  switch (mode) {
    case ptx::PermuteMode::f4e:
      return s + i;
    case ptx::PermuteMode::b4e:
      return (s + 8 - i) & 7;
    case ptx::PermuteMode::rc8:
      return s;
    case ptx::PermuteMode::ecl:
      return std::max(s, i);
    case ptx::PermuteMode::ecr:
      return std::min(s, i);
    default:
      return ((s & 1) << 1) + (i & 1);  // rc16
  }
}
void permute(Context& w, const Code& c) {
  const auto mode = static_cast<ptx::PermuteMode>(c.aux);
  each(w, c, [=](std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
    const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
    std::uint32_t r = 0;
    for (std::uint32_t i = 0; i < 4; ++i) {
      const auto byte = static_cast<std::uint32_t>(bytes >> 8 * permuted_byte(mode, selector, i));
      r |= (byte & 0xff) << 8 * i;
    }
    return r;
  });
}

// lop3.BoolOp d|p: the predicate is whether the result is not zero, joined with q.
// aux: the table, the BoolOp from bit 8. list[0]: q.
void logic_predicate(Context& w, const Code& c) {
  LaneMask nonzero = 0;
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint32_t x = r32(w, c.a)[lane], y = r32(w, c.b)[lane], z = r32(w, c.c)[lane];
    std::uint32_t r = 0;
    for (unsigned i = 0; i < 8; ++i) {
      if ((c.aux >> i & 1) == 0) continue;
      r |= ((i & 4) != 0 ? x : ~x) & ((i & 2) != 0 ? y : ~y) & ((i & 1) != 0 ? z : ~z);
    }
    r32(w, c.dst)[lane] = r;
    if (r != 0) nonzero |= LaneMask{1} << lane;
  }
  const LaneMask q = predicate(w, c.list[0]) ^ c.c_flip;
  const auto op = static_cast<ptx::BoolOp>(c.aux >> 8);
  const LaneMask p = op == ptx::BoolOp::or_    ? nonzero | q
                     : op == ptx::BoolOp::and_ ? nonzero & q
                                               : nonzero ^ q;
  std::uint32_t& to = predicate(w, c.dst2);
  to = (to & ~w.mask) | (p & w.mask);
}

enum class Pairwise : std::uint8_t { add, min, max };

// Packed 16-bit integers. aux: the Pairwise, bit 16 signed, bit 17 relu.
void packed(Context& w, const Code& c) {
  const auto operation = static_cast<Pairwise>(c.aux & 0xff);
  const bool is_signed = (c.aux >> 16 & 1) != 0, relu = (c.aux >> 17 & 1) != 0;
  const auto one = [=](std::uint32_t x, std::uint32_t y) {
    const auto value = [=](std::uint32_t v) {
      return is_signed ? std::int32_t{static_cast<std::int16_t>(v)}
                       : static_cast<std::int32_t>(v & 0xffff);
    };
    std::int32_t r = operation == Pairwise::add   ? value(x) + value(y)
                     : operation == Pairwise::min ? std::min(value(x), value(y))
                                                  : std::max(value(x), value(y));
    if (relu) r = std::max(r, 0);
    return static_cast<std::uint32_t>(r) & 0xffff;
  };
  each(w, c, [=](std::uint32_t a, std::uint32_t b, std::uint32_t) {
    return one(a, b) | one(a >> 16, b >> 16) << 16;
  });
}
void extremum_relu(Context& w, const Code& c) {
  const bool larger = c.aux != 0;
  each(w, c, [=](std::uint32_t a, std::uint32_t b, std::uint32_t) {
    const auto x = static_cast<std::int32_t>(a), y = static_cast<std::int32_t>(b);
    return static_cast<std::uint32_t>(std::max(larger ? std::max(x, y) : std::min(x, y), 0));
  });
}

// cvt.pack.sat: two 32-bit integers saturated to 2, 4, 8 or 16 bits; below 16 the third operand
// moves up to make room. aux: bits, bit 8 signed, bit 9 the sources signed.
void pack_saturated(Context& w, const Code& c) {
  const unsigned bits = c.aux & 0xff;
  const bool to_signed = (c.aux >> 8 & 1) != 0;
  const std::int64_t high = (std::int64_t{1} << (bits - (to_signed ? 1 : 0))) - 1;
  const std::int64_t low = to_signed ? -high - 1 : 0;
  const std::uint32_t keep = (1u << bits) - 1;
  const bool has_third = c.c != 0;
  const auto saturated = [=](std::uint32_t v) {
    const std::int64_t value = std::int64_t{static_cast<std::int32_t>(v)};
    return static_cast<std::uint32_t>(std::clamp(value, low, high)) & keep;
  };
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint32_t pair = saturated(r32(w, c.a)[lane]) << bits | saturated(r32(w, c.b)[lane]);
    const std::uint32_t above = has_third && bits < 16 ? r32(w, c.c)[lane] << 2 * bits : 0;
    r32(w, c.dst)[lane] = above | pair;
  }
}

bool decode_32(FunctionDecoder& d, const ptx::Instruction& in, Execute execute, std::uint32_t aux,
               Code& code) {
  code.aux = aux;
  return ptx::bit_width(in.modifiers.type()) == 32 && decode_lanes(d, in, execute, code);
}

bool decode_pairwise(FunctionDecoder& d, const ptx::Instruction& in, Pairwise operation,
                     Code& code) {
  const Type type = in.modifiers.type();
  const bool three = in.operands.size() == 4;
  if (three && (type != Type::f32 || in.modifiers.has(ptx::Flag::xorsign))) return false;
  if (decode_number(d, in, code)) return true;
  const bool relu = in.modifiers.has(ptx::Flag::relu);
  if (in.modifiers.type_count != 1) return false;
  if (type == Type::s16x2 || type == Type::u16x2) {
    const std::uint32_t aux = static_cast<std::uint32_t>(operation) |
                              (type == Type::s16x2 ? 1u << 16 : 0) | (relu ? 1u << 17 : 0);
    return decode_32(d, in, packed, aux, code);
  }
  if (type != Type::s32 || !relu || operation == Pairwise::add) return false;
  return decode_32(d, in, extremum_relu, operation == Pairwise::max ? 1 : 0, code);
}

std::uint32_t clamps(const ptx::Instruction& in) {
  return in.modifiers.shift_mode == ptx::ShiftMode::clamp ? 1 : 0;
}

}  // namespace

bool decode_add(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_pairwise(d, in, Pairwise::add, code);
}
bool decode_min(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_pairwise(d, in, Pairwise::min, code);
}
bool decode_max(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_pairwise(d, in, Pairwise::max, code);
}

bool decode_fns(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_32(d, in, fns, 0, code);
}
bool decode_szext(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const std::uint32_t sign = in.modifiers.type() == Type::s32 ? 2 : 0;
  return decode_32(d, in, sign_extend, clamps(in) | sign, code);
}
bool decode_bmsk(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_32(d, in, bit_mask, clamps(in), code);
}

bool decode_prmt(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const ptx::PermuteMode mode = in.modifiers.permute;
  if (mode == ptx::PermuteMode::none) return decode_logic(d, in, code);
  return decode_32(d, in, permute, static_cast<std::uint32_t>(mode), code);
}

bool decode_lop3(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const auto table = static_cast<std::uint32_t>(in.operands[4].bits) & 0xff;
  const ptx::BoolOp joint = in.modifiers.bool_op;
  if ((joint != ptx::BoolOp::none) != (in.operands.size() == 6)) return false;
  if (joint == ptx::BoolOp::none) {
    return decode_32(d, in, lane_kernels().logic(lane_key(in)), table, code);
  }
  const std::uint32_t aux = table | static_cast<std::uint32_t>(joint) << 8;
  if (!decode_32(d, in, logic_predicate, aux, code)) return false;
  d.set_list(code, {d.source(in.operands[5], Type::pred)});
  code.c_flip = in.operands[5].negated ? ~0u : 0u;
  return true;
}

bool decode_pack(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const Type to = in.modifiers.types[0], from = in.modifiers.types[1];
  if (from != Type::s32 || !in.modifiers.has(ptx::Flag::sat)) return false;
  const unsigned bits = ptx::bit_width(to);
  if (bits > 16 || (bits < 16) != (in.operands.size() == 4)) return false;
  code.aux = bits | (ptx::is_signed(to) ? 1u << 8 : 0);
  return decode_lanes(d, in, pack_saturated, code);
}

}  // namespace tilescope::emulator
