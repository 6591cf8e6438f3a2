// sin, cos, lg2, ex2, tanh, and the classification of numbers (testp).
//
// The chip approximates; the emulator takes the double result and rounds it once, so that it is the
// nearest value for all but some inputs very near a tie. Against it the chip's results differ by at
// most (PTX ISA): ex2.approx.f32 2 ulp (2^-22.5 relative), lg2.approx.f32 2^-22 absolute within
// (0.5, 2) and 2 ulp elsewhere, sin and cos.approx.f32 2^-20.5 absolute in [-2 pi, 2 pi] (worse
// outside), tanh.approx.f32 2^-11 relative, tanh.approx.f16 2^-10.987 and bf16 2^-8 absolute,
// ex2.approx.f16 2^-9.9 and bf16 2^-7 relative.
#include <bit>
#include <cmath>

#include "emulator/context.hpp"
#include "emulator/decoder.hpp"
#include "emulator/instructions/number_format.hpp"
#include "emulator/instructions/operands.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Opcode;
using ptx::Type;

double evaluate(Opcode opcode, double x) {
  switch (opcode) {
    case Opcode::sin:
      return std::sin(x);
    case Opcode::cos:
      return std::cos(x);
    case Opcode::lg2:
      return std::log2(x);
    case Opcode::ex2:
      return std::exp2(x);
    default:
      return std::tanh(x);
  }
}

std::uint32_t one(Opcode opcode, std::uint32_t bits, const NumberFormat& format, bool ftz) {
  double x = decode(bits, format);
  const double smallest = std::ldexp(1.0, format.lowest_exponent);
  if (ftz && std::fabs(x) < smallest) x = std::copysign(0.0, x);
  double r = evaluate(opcode, x);
  if (ftz && std::fabs(r) < smallest) r = std::copysign(0.0, r);
  return encode(r, format, ptx::Rounding::rn, false);
}

// aux: the opcode, the type from bit 16, ftz at bit 24.
void approximate(Context& w, const Code& c) {
  const auto opcode = static_cast<Opcode>(c.aux & 0xffff);
  const auto type = static_cast<Type>(c.aux >> 16 & 0xff);
  const bool ftz = (c.aux >> 24 & 1) != 0, pair = type == Type::f16x2 || type == Type::bf16x2;
  const NumberFormat& format = *number_format(type);
  const std::uint32_t* a = r32(w, c.a);
  std::uint32_t* d = r32(w, c.dst);
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    if (pair) {
      const std::uint32_t low = one(opcode, a[lane] & 0xffff, format, ftz);
      d[lane] = low | one(opcode, a[lane] >> 16, format, ftz) << 16;
    } else {
      d[lane] = one(opcode, a[lane], format, ftz);
    }
  }
}

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

// --- comparisons of 16-bit floats
// -----------------------------------------------------------------

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
  // A result of 1.0 in floating types, all ones in integer ones; per half where the destination is
  // a pair.
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

bool decode_comparison(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const bool sets = in.opcode == Opcode::set;
  const Type type = in.modifiers.source_type();
  const Type to = sets ? in.modifiers.type() : Type::none;
  const bool from_half = is_half(type);
  // set.f16.f32 and the like: the comparison of wider types with a 16-bit result.
  if (!from_half) return false;
  const ptx::Operand& result = in.operands[0];
  if (result.kind == ptx::Operand::Kind::pair) {
    code.dst = d.destination(result.elements[0]);
    code.dst2 = d.destination(result.elements[1]);
  } else {
    code.dst = d.destination(result);
  }
  code.a = d.source(in.operands[1], type);
  code.b = d.source(in.operands[2], type);
  if (in.operands.size() > 3) {
    code.c = d.source(in.operands[3], Type::pred);
    code.c_flip = in.operands[3].negated ? ~0u : 0u;
  }
  code.aux =
      static_cast<std::uint32_t>(in.modifiers.compare) | static_cast<std::uint32_t>(type) << 8 |
      static_cast<std::uint32_t>(in.modifiers.bool_op) << 16 |
      (in.modifiers.has(ptx::Flag::ftz) ? 1u << 20 : 0) | static_cast<std::uint32_t>(to) << 24;
  code.execute = compare_half;
  return true;
}

}  // namespace

bool decode_float_rare(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const Type type = in.modifiers.type();
  switch (in.opcode) {
    case Opcode::sin:
    case Opcode::cos:
    case Opcode::lg2:
      if (type != Type::f32) return false;
      break;
    case Opcode::ex2:
    case Opcode::tanh:
      if (type != Type::f32 && !is_half(type)) return false;
      break;
    case Opcode::testp:
      if (type != Type::f32 && type != Type::f64) return false;
      code.dst = d.destination(in.operands[0]);
      code.a = d.source(in.operands[1], type);
      code.bytes = static_cast<std::uint16_t>(ptx::byte_size(type));
      code.aux = static_cast<std::uint32_t>(in.modifiers.test);
      code.execute = classify;
      return true;
    case Opcode::set:
    case Opcode::setp:
      return decode_comparison(d, in, code);
    default:
      return false;
  }
  code.dst = d.destination(in.operands[0]);
  code.a = d.source(in.operands[1], type);
  code.aux = static_cast<std::uint32_t>(in.opcode) | static_cast<std::uint32_t>(type) << 16 |
             (in.modifiers.has(ptx::Flag::ftz) ? 1u << 24 : 0);
  code.execute = approximate;
  return true;
}

}  // namespace tilescope::emulator
