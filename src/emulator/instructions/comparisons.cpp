// Comparisons (set, setp), and the classification of numbers (testp). Those of 16-bit floats go
// lane by lane, through double.
#include <bit>
#include <cmath>

#include "base/one_of.hpp"
#include "emulator/context.hpp"
#include "emulator/decoder.hpp"
#include "emulator/instructions/number_format.hpp"
#include "emulator/instructions/operands.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Type;

bool test(ptx::TestKind kind, double v) {
  switch (kind) {
    case ptx::TestKind::finite:
      return std::isfinite(v);
    case ptx::TestKind::infinite:
      return std::isinf(v);
    case ptx::TestKind::number:
      return !std::isnan(v);
    case ptx::TestKind::notanumber:
      return std::isnan(v);
    case ptx::TestKind::normal:
      return std::isnormal(v);
    default:
      return std::fpclassify(v) == FP_SUBNORMAL;
  }
}
bool test(ptx::TestKind kind, float v) {
  if (kind == ptx::TestKind::normal) return std::isnormal(v);
  if (kind == ptx::TestKind::subnormal) return std::fpclassify(v) == FP_SUBNORMAL;
  return test(kind, static_cast<double>(v));
}

void classify(Context& w, const Code& c) {
  const auto kind = static_cast<ptx::TestKind>(c.aux);
  LaneMask result = 0;
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const bool holds = c.bytes == 8 ? test(kind, std::bit_cast<double>(r64(w, c.a)[lane]))
                                    : test(kind, std::bit_cast<float>(r32(w, c.a)[lane]));
    if (holds) result |= LaneMask{1} << lane;
  }
  std::uint32_t& p = predicate(w, c.dst);
  p = (p & ~w.mask) | result;
}

bool compare(ptx::Compare how, double a, double b) {
  using ptx::Compare;
  const bool unordered = std::isnan(a) || std::isnan(b);
  switch (how) {
    case Compare::eq:
      return a == b;
    case Compare::ne:
      return !unordered && a != b;
    case Compare::lt:
      return a < b;
    case Compare::le:
      return a <= b;
    case Compare::gt:
      return a > b;
    case Compare::ge:
      return a >= b;
    case Compare::equ:
      return unordered || a == b;
    case Compare::neu:
      return unordered || a != b;
    case Compare::ltu:
      return unordered || a < b;
    case Compare::leu:
      return unordered || a <= b;
    case Compare::gtu:
      return unordered || a > b;
    case Compare::geu:
      return unordered || a >= b;
    case Compare::num:
      return !unordered;
    default:
      return unordered;
  }
}

double half_value(std::uint32_t bits, const NumberFormat& format, bool ftz) {
  const double v = decode(bits & 0xffff, format);
  return ftz && std::fabs(v) < std::ldexp(1.0, format.lowest_exponent) ? std::copysign(0.0, v) : v;
}

// aux: the comparison, the source type from bit 8, the BoolOp from bit 16, ftz at bit 20; for set
// the destination type from bit 24 (none for setp).
void compare_half(Context& w, const Code& c) {
  const auto how = static_cast<ptx::Compare>(c.aux & 0xff);
  const auto type = static_cast<Type>(c.aux >> 8 & 0xff);
  const auto joint = static_cast<ptx::BoolOp>(c.aux >> 16 & 15);
  const bool ftz = (c.aux >> 20 & 1) != 0;
  const auto to = static_cast<Type>(c.aux >> 24);
  const bool pair = type == Type::f16x2 || type == Type::bf16x2;
  const NumberFormat& format = *number_format(type);
  const LaneMask q = joint == ptx::BoolOp::none ? 0 : predicate(w, c.c) ^ c.c_flip;
  const auto joined = [&](LaneMask m) {
    return joint == ptx::BoolOp::and_   ? m & q
           : joint == ptx::BoolOp::or_  ? m | q
           : joint == ptx::BoolOp::xor_ ? m ^ q
                                        : m;
  };
  LaneMask low = 0, high = 0;
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint32_t a = r32(w, c.a)[lane], b = r32(w, c.b)[lane];
    const auto holds = [&](unsigned at) {
      return compare(how, half_value(a >> at, format, ftz), half_value(b >> at, format, ftz));
    };
    low |= static_cast<LaneMask>(holds(0)) << lane;
    if (pair) high |= static_cast<LaneMask>(holds(16)) << lane;
  }
  const LaneMask first = joined(low), second = pair ? joined(high) : joined(~low);
  if (to == Type::none) {
    const auto put = [&](std::uint32_t offset, LaneMask value) {
      std::uint32_t& p = predicate(w, offset);
      p = (p & ~w.mask) | (value & w.mask);
    };
    put(c.dst, first);
    if (c.dst2 != kSinkOffset) put(c.dst2, second);
    return;
  }
  // A result of 1.0 in floating types, all ones in integer ones; per half if the destination is a
  // pair.
  const bool real = ptx::is_float(to);
  const bool two = to == Type::f16x2 || to == Type::bf16x2;
  const std::uint32_t ones = ptx::bit_width(to) == 16 ? 0xffffu : 0xffffffffu;
  const std::uint32_t yes = !real ? ones
                            : to == Type::f32
                                ? 0x3f800000u
                                : encode(1.0, *number_format(to), ptx::Rounding::rn, false);
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const bool x = (first >> lane & 1) != 0, y = pair && (second >> lane & 1) != 0;
    std::uint32_t r = x ? yes : 0;
    if (two) r |= y ? yes << 16 : 0;
    if (pair && !real && !two) r = (x ? 0xffffu : 0u) | (y ? 0xffff0000u : 0u);
    r32(w, c.dst)[lane] = r;
  }
}

/// Comparisons that are the opposite of one with a lane kernel.
bool is_opposite(ptx::Compare compare) {
  using ptx::Compare;
  return is_one_of(compare, {Compare::neu, Compare::equ, Compare::ltu, Compare::leu, Compare::gtu,
                             Compare::geu, Compare::nan});
}

}  // namespace

bool decode_testp(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const Type type = in.modifiers.type();
  code.bytes = static_cast<std::uint16_t>(ptx::byte_size(type));
  code.aux = static_cast<std::uint32_t>(in.modifiers.test);
  return (type == Type::f32 || type == Type::f64) && decode_lanes(d, in, classify, code);
}

bool decode_comparison(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const LaneKey key = lane_key(in);
  const Type type = key.source;
  const Type to = in.modifiers.type_count == 2 ? key.type : Type::none;  // of set alone
  if (is_half(type)) {
    code.aux = static_cast<std::uint32_t>(key.compare) | static_cast<std::uint32_t>(type) << 8 |
               static_cast<std::uint32_t>(key.bool_op) << 16 | (key.ftz ? 1u << 20 : 0) |
               static_cast<std::uint32_t>(to) << 24;
    return key.width <= 4 && decode_lanes(d, in, compare_half, code);
  }
  if (to != Type::none && to != Type::f32 && to != Type::u32 && to != Type::s32) return false;
  code.aux = (is_opposite(key.compare) ? 1u : 0u) | (to == Type::f32 ? 2u : 0u) |
             static_cast<std::uint32_t>(key.bool_op) << 8;
  return decode_lanes(d, in, lane_kernels().compare(key), code);
}

}  // namespace tilescope::emulator
