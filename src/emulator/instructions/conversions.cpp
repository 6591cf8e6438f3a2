// The conversions (cvt) without lane kernels: those of 16-bit floats with other types, roundings
// and saturations, tf32, and the 8-bit floats. Lane by lane, through double.
#include <bit>
#include <cmath>
#include <limits>

#include "base/one_of.hpp"
#include "emulator/context.hpp"
#include "emulator/decoder.hpp"
#include "emulator/instructions/number_format.hpp"
#include "emulator/instructions/operands.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Rounding;
using ptx::Type;

struct Conversion {
  Type to, from;
  Rounding rounding;
  bool sat, satfinite, relu, ftz;
};

// Code::aux: types and rounding in a byte each, the flags above them.
std::uint32_t packed(const Conversion& c) {
  return static_cast<std::uint32_t>(c.to) | static_cast<std::uint32_t>(c.from) << 8 |
         static_cast<std::uint32_t>(c.rounding) << 16 | (c.sat ? 1u << 24 : 0) |
         (c.satfinite ? 1u << 25 : 0) | (c.relu ? 1u << 26 : 0) | (c.ftz ? 1u << 27 : 0);
}
Conversion unpacked(std::uint32_t aux) {
  return {static_cast<Type>(aux & 0xff),
          static_cast<Type>(aux >> 8 & 0xff),
          static_cast<Rounding>(aux >> 16 & 0xff),
          (aux >> 24 & 1) != 0,
          (aux >> 25 & 1) != 0,
          (aux >> 26 & 1) != 0,
          (aux >> 27 & 1) != 0};
}

bool is_packed(Type type) {
  return is_one_of(type, {Type::f16x2, Type::bf16x2, Type::e4m3x2, Type::e5m2x2, Type::e3m2x2,
                          Type::e2m3x2, Type::e2m1x2, Type::ue8m0x2});
}
unsigned element_bits(Type type) {
  return is_packed(type) ? ptx::bit_width(type) / 2 : ptx::bit_width(type);
}

/// An integer as a double; an inexact one is rounded to odd, so that a second rounding into a
/// narrower format is correct.
double integer_value(std::uint64_t bits, Type type) {
  const unsigned shift = 64 - ptx::bit_width(type);
  const bool is_signed = ptx::is_signed(type);
  const auto value = static_cast<std::int64_t>(bits << shift) >> shift;
  const bool negative = is_signed && value < 0;
  const std::uint64_t magnitude = negative    ? 0 - static_cast<std::uint64_t>(value)
                                  : is_signed ? static_cast<std::uint64_t>(value)
                                              : bits << shift >> shift;
  double d;
  if (magnitude >> 53 == 0) {
    d = static_cast<double>(magnitude);
  } else {
    const int drop = 64 - std::countl_zero(magnitude) - 53;
    std::uint64_t kept = magnitude >> drop;
    if ((magnitude & ((std::uint64_t{1} << drop) - 1)) != 0) kept |= 1;
    d = std::ldexp(static_cast<double>(kept), drop);
  }
  return negative ? -d : d;
}

/// ue8m0: a power of two, from 2^-127; all ones are NaN.
double power_of_two(std::uint64_t bits) {
  return bits == 0xff ? std::numeric_limits<double>::quiet_NaN()
                      : std::ldexp(1.0, static_cast<int>(bits) - 127);
}
std::uint32_t exponent_of(double v, const Conversion& c) {
  if (std::isnan(v)) return 0xff;
  const double magnitude = std::fabs(v);
  if (magnitude <= 0x1p-127) return 0;
  if (std::isinf(v)) return c.satfinite ? 0xfe : 0xff;
  int exponent = std::ilogb(magnitude) + 127;
  if (c.rounding == Rounding::rp && magnitude > std::ldexp(1.0, exponent - 127)) ++exponent;
  return static_cast<std::uint32_t>(exponent > 0xfe && c.satfinite ? 0xfe : exponent);
}

double value_of(std::uint64_t bits, Type type) {
  if (type == Type::ue8m0x2) return power_of_two(bits);
  if (type == Type::f64) return std::bit_cast<double>(bits);
  if (const NumberFormat* format = number_format(type)) {
    return decode(static_cast<std::uint32_t>(bits), *format);
  }
  return integer_value(bits, type);
}

double integral(double v, Rounding rounding) {
  switch (rounding) {
    case Rounding::rni:
      return std::nearbyint(v);
    case Rounding::rzi:
      return std::trunc(v);
    case Rounding::rmi:
      return std::floor(v);
    case Rounding::rpi:
      return std::ceil(v);
    default:
      return v;
  }
}

std::uint64_t to_integer(double v, const Conversion& c) {
  const unsigned width = ptx::bit_width(c.to);
  const bool is_signed = ptx::is_signed(c.to);
  const std::uint64_t high = std::uint64_t{1} << (width - 1);
  if (std::isnan(v)) return width == 64 ? high : 0;
  v = integral(v, c.rounding);
  const double limit = is_signed ? static_cast<double>(high) : 2.0 * static_cast<double>(high);
  if (v >= limit) return is_signed ? high - 1 : ~std::uint64_t{0} >> (64 - width);
  if (is_signed)
    return v < -limit ? ~(high - 1) : static_cast<std::uint64_t>(static_cast<std::int64_t>(v));
  return v < 0 ? 0 : static_cast<std::uint64_t>(v);
}

std::uint64_t convert_one(std::uint64_t bits, const Conversion& c) {
  if (c.ftz && c.from == Type::f32 && (bits & 0x7f800000u) == 0) bits &= 0x80000000u;
  double v = value_of(bits, c.from);
  if (is_integer(c.to)) return to_integer(v, c);
  v = integral(v, c.rounding);
  if (c.sat) v = std::isnan(v) || v <= 0 ? 0 : v >= 1 ? 1 : v;
  if (c.relu && v <= 0) v = 0;
  if (c.to == Type::ue8m0x2) return exponent_of(v, c);
  if (c.to == Type::f64) {
    return std::isnan(v) ? 0xfff8000000000000u : std::bit_cast<std::uint64_t>(v);
  }
  std::uint32_t r = encode(v, *number_format(c.to), c.rounding, c.satfinite);
  if (c.ftz && c.to == Type::f32 && (r & 0x7f800000u) == 0) r &= 0x80000000u;
  return r;
}

std::uint64_t read_bits(Context& w, std::uint32_t offset, unsigned bits, int lane) {
  if (bits == 64) return r64(w, offset)[lane];
  const std::uint32_t v = r32(w, offset)[lane];
  return bits == 32 ? v : v & ((1u << bits) - 1);
}

void write(Context& w, const Code& c, int lane, std::uint64_t v) {
  v &= static_cast<std::uint64_t>(c.offset);
  if (c.bytes == 8) {
    r64(w, c.dst)[lane] = v;
  } else {
    r32(w, c.dst)[lane] = static_cast<std::uint32_t>(v);
  }
}

void convert(Context& w, const Code& c) {
  const Conversion conversion = unpacked(c.aux);
  const unsigned bits = ptx::bit_width(conversion.from);
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    write(w, c, lane, convert_one(read_bits(w, c.a, bits, lane), conversion));
  }
}

// Two elements from two registers: a becomes the upper one.
void convert_two(Context& w, const Code& c) {
  const Conversion conversion = unpacked(c.aux);
  const unsigned from = ptx::bit_width(conversion.from), to = element_bits(conversion.to);
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t upper = convert_one(read_bits(w, c.a, from, lane), conversion);
    const std::uint64_t lower = convert_one(read_bits(w, c.b, from, lane), conversion);
    write(w, c, lane, upper << to | lower);
  }
}

// Two elements from the two of one register.
void convert_pair(Context& w, const Code& c) {
  const Conversion conversion = unpacked(c.aux);
  const unsigned from = element_bits(conversion.from), to = element_bits(conversion.to);
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t both = read_bits(w, c.a, 2 * from, lane);
    const std::uint64_t low = both & ((std::uint64_t{1} << from) - 1);
    write(w, c, lane, convert_one(both >> from, conversion) << to | convert_one(low, conversion));
  }
}

// An integer that is the lower part of a 64-bit register: cvt accepts a register wider than its
// type, and cuts it.
void convert_lower_part(Context& w, const Code& c) {
  const Conversion conversion = unpacked(c.aux);
  struct Part {
    explicit Part(Type type) : shift(64 - ptx::bit_width(type)), is_signed(ptx::is_signed(type)) {}
    std::uint64_t of(std::uint64_t bits) const {
      bits <<= shift;
      return is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(bits) >> shift)
                       : bits >> shift;
    }
    unsigned shift;
    bool is_signed;
  };
  const Part from(conversion.from), to(conversion.to);
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    write(w, c, lane, to.of(from.of(r64(w, c.a)[lane])));
  }
}

bool is_known(Type type) {
  return type == Type::f64 || type == Type::ue8m0x2 || number_format(type) != nullptr ||
         (is_integer(type) && !ptx::is_untyped(type));
}

/// Uses the lane kernels; false if they have none for it.
bool decode_fast(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  LaneKey key = lane_key(in);
  const ptx::Operand& result = in.operands[0];
  key.width = static_cast<std::uint8_t>(d.width(result, key.type));
  const bool half = is_half(key.type) || is_half(key.source);
  const bool whole = half || is_integer(key.type) || key.width == register_bytes(key.type);
  if (!whole || d.width(in.operands[1], key.source) != register_bytes(key.source)) return false;
  if (in.modifiers.has(ptx::Flag::satfinite)) return false;
  if (!decode_lanes(d, in, half ? lane_kernels().half(key) : lane_kernels().convert(key), code)) {
    return false;
  }
  code.aux = half ? half_options(key)
                  : (ptx::bit_width(key.type) & 0xff) | (ptx::is_signed(key.type) ? 0x100u : 0u) |
                        (key.sat ? 0x200u : 0u);
  code.offset = static_cast<std::int64_t>(register_mask(d.declared(result, key.type)));
  return true;
}

bool decode_any(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const ptx::Modifiers& m = in.modifiers;
  const Conversion c{m.types[0],
                     m.types[1],
                     m.rounding,
                     m.has(ptx::Flag::sat),
                     m.has(ptx::Flag::satfinite),
                     m.has(ptx::Flag::relu),
                     m.has(ptx::Flag::ftz)};
  if (!is_known(c.to) || !is_known(c.from) || c.rounding == Rounding::rs) return false;
  if (m.has(ptx::Flag::scaled)) return false;
  const bool two = in.operands.size() == 3;
  if (in.operands.size() > 3 || is_packed(c.from) != (is_packed(c.to) && !two)) return false;
  bool chopped = false;
  for (std::size_t i = 1; i < in.operands.size(); ++i) {
    chopped = chopped || d.width(in.operands[i], c.from) != register_bytes(c.from);
  }
  const bool integers = is_integer(c.to) && is_integer(c.from) && !c.sat;
  if (chopped && (!integers || d.width(in.operands[1], c.from) != 8)) return false;
  code.dst = d.destination(in.operands[0]);
  code.a = d.source(in.operands[1], c.from);
  if (two) code.b = d.source(in.operands[2], c.from);
  code.bytes = static_cast<std::uint16_t>(d.width(in.operands[0], c.to));
  code.offset = static_cast<std::int64_t>(register_mask(d.declared(in.operands[0], c.to)));
  code.aux = packed(c);
  code.execute = chopped           ? convert_lower_part
                 : two             ? convert_two
                 : is_packed(c.to) ? convert_pair
                                   : convert;
  return code.bytes == 4 || code.bytes == 8;
}

}  // namespace

bool decode_conversion(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_fast(d, in, code) || decode_any(d, in, code);
}

}  // namespace tilescope::emulator
