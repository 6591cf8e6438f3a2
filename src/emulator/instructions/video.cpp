// Video operations: arithmetic on bytes and halves selected from registers, alone or merged into
// another register, and on two or four of them at a time.
#include <algorithm>
#include <bit>
#include <vector>

#include "emulator/context.hpp"
#include "emulator/decoder.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Operand;
using ptx::Type;

__extension__ using Wide = __int128;  // holds every product and sum of a vmad

enum class VideoForm : std::uint8_t { add, sub, absdiff, min, max, average, set, shl, shr };

/// One operation, kept in Code::list as plain numbers.
struct Video {
  VideoForm form;
  unsigned parts;  ///< 1, 2 or 4 in a register
  bool signed_d, signed_a, signed_b;
  bool saturate;
  ptx::Compare compare;
  int second;  ///< 0 none, 1 add, 2 min, 3 max (of SIMD forms: 1 sums the parts)
  /// Operand::Selector; of SIMD forms: for each part the place in the registers a and b, a digit.
  std::uint32_t select_a, select_b;
  std::uint32_t into;  ///< Operand::Selector of the part that is written; of SIMD forms: a mask
  bool wraps;          ///< shifts by the amount modulo 32
};

std::int64_t part(std::uint32_t v, unsigned at, unsigned bits, bool is_signed) {
  const unsigned shift = 64 - bits;
  const std::uint64_t moved = static_cast<std::uint64_t>(v >> at) << shift;
  return is_signed ? static_cast<std::int64_t>(moved) >> shift
                   : static_cast<std::int64_t>(moved >> shift);
}

/// The bits that a selector names.
struct Field {
  unsigned at, bits;
};
Field field(std::uint32_t selector) {
  using Selector = Operand::Selector;
  const auto which = static_cast<Selector>(selector);
  if (which == Selector::none) return {0, 32};
  if (which <= Selector::b3) return {8 * (selector - 1), 8};
  return {which == Selector::h1 ? 16u : 0u, 16};
}

std::int64_t selected(std::uint32_t v, std::uint32_t selector, bool is_signed) {
  const Field f = field(selector);
  return part(v, f.at, f.bits, is_signed);
}

bool holds(ptx::Compare compare, std::int64_t a, std::int64_t b) {
  switch (compare) {
    case ptx::Compare::eq:
      return a == b;
    case ptx::Compare::ne:
      return a != b;
    case ptx::Compare::lt:
      return a < b;
    case ptx::Compare::le:
      return a <= b;
    case ptx::Compare::gt:
      return a > b;
    default:
      return a >= b;
  }
}

std::int64_t evaluate(const Video& v, std::int64_t a, std::int64_t b) {
  switch (v.form) {
    case VideoForm::add:
      return a + b;
    case VideoForm::sub:
      return a - b;
    case VideoForm::absdiff:
      return a < b ? b - a : a - b;
    case VideoForm::min:
      return std::min(a, b);
    case VideoForm::max:
      return std::max(a, b);
    case VideoForm::average:
      return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;  // halves away from zero
    case VideoForm::set:
      return holds(v.compare, a, b) ? 1 : 0;
    case VideoForm::shl:
      return a * (std::int64_t{1} << (v.wraps ? b & 31 : std::min<std::int64_t>(b, 32)));
    case VideoForm::shr:
      return a >> (v.wraps ? b & 31 : std::min<std::int64_t>(b, 32));
  }
  return 0;
}

std::int64_t clamped(std::int64_t v, unsigned bits, bool is_signed) {
  const std::int64_t high = (std::int64_t{1} << (bits - (is_signed ? 1 : 0))) - 1;
  return std::clamp<std::int64_t>(v, is_signed ? -high - 1 : 0, high);
}

std::uint32_t scalar(const Video& v, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::int64_t r =
      evaluate(v, selected(a, v.select_a, v.signed_a), selected(b, v.select_b, v.signed_b));
  const Field to = field(v.into);
  if (v.saturate) r = clamped(r, to.bits, v.signed_d);
  const auto bits = static_cast<std::uint32_t>(r);
  if (v.into != 0) {  // the rest is c's
    const std::uint32_t mask = ((1u << to.bits) - 1) << to.at;
    return (c & ~mask) | (bits << to.at & mask);
  }
  const auto less = [&](std::uint32_t x, std::uint32_t y) {
    return v.signed_d ? static_cast<std::int32_t>(x) < static_cast<std::int32_t>(y) : x < y;
  };
  switch (v.second) {
    case 1:
      return bits + c;
    case 2:
      return less(bits, c) ? bits : c;
    case 3:
      return less(bits, c) ? c : bits;
    default:
      return bits;
  }
}

// Parts outside the mask are c's; they count in no sum.
std::uint32_t parallel(const Video& v, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const unsigned bits = 32 / v.parts;
  const std::uint32_t keep = (1u << bits) - 1;
  const std::uint32_t registers[] = {a, b};
  const auto operand = [&](std::uint32_t select, unsigned i, bool is_signed) {
    const unsigned from = select >> 4 * i & 0xf;
    return part(registers[from / v.parts], from % v.parts * bits, bits, is_signed);
  };
  std::uint32_t sum = c, packed = 0;
  for (unsigned i = 0; i < v.parts; ++i) {
    if ((v.into >> i & 1) == 0) {
      packed |= c & keep << i * bits;
      continue;
    }
    std::int64_t r =
        evaluate(v, operand(v.select_a, i, v.signed_a), operand(v.select_b, i, v.signed_b));
    if (v.saturate) r = clamped(r, bits, v.signed_d);
    sum += static_cast<std::uint32_t>(r);
    packed |= (static_cast<std::uint32_t>(r) & keep) << i * bits;
  }
  return v.second == 1 ? sum : packed;
}

// list: the fields of Video; c.a, c.b, c.c the operands.
void video(Context& w, const Code& code) {
  const std::uint32_t* l = code.list;
  const Video v{static_cast<VideoForm>(l[0]),
                l[1],
                l[2] != 0,
                l[3] != 0,
                l[4] != 0,
                l[5] != 0,
                static_cast<ptx::Compare>(l[6]),
                static_cast<int>(l[7]),
                l[8],
                l[9],
                l[10],
                l[11] != 0};
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint32_t a = r32(w, code.a)[lane], b = r32(w, code.b)[lane],
                        c = r32(w, code.c)[lane];
    r32(w, code.dst)[lane] = v.parts == 1 ? scalar(v, a, b, c) : parallel(v, a, b, c);
  }
}

/// list: signs of a and b, signed result, saturate, bits to shift, negated product, negated c, one
/// more, selectors of a and b.
void multiply_add(Context& w, const Code& code) {
  const std::uint32_t* l = code.list;
  const bool is_signed = l[2] != 0;
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint32_t c = r32(w, code.c)[lane];
    const Wide product = static_cast<Wide>(selected(r32(w, code.a)[lane], l[8], l[0] != 0)) *
                         selected(r32(w, code.b)[lane], l[9], l[1] != 0);
    const Wide addend = part(c, 0, 32, is_signed);
    Wide r = (l[5] != 0 ? -product : product) + (l[6] != 0 ? -addend : addend) + l[7];
    r >>= l[4];
    if (l[3] != 0) {
      const Wide low = is_signed ? -(std::int64_t{1} << 31) : 0;
      const Wide high = (std::int64_t{1} << (is_signed ? 31 : 32)) - 1;
      r = std::clamp(r, low, high);
    }
    r32(w, code.dst)[lane] = static_cast<std::uint32_t>(r);
  }
}

/// The places that operand `operand` of a SIMD form names, a digit for each part, the lowest part's
/// first; without a selector the parts of one register, from `first`. False for another number of
/// parts.
bool select_parts(const Operand& operand, unsigned parts, unsigned first, std::uint32_t& places) {
  using Selector = Operand::Selector;
  places = 0;
  if (operand.selector == Selector::none) {
    for (unsigned i = 0; i < parts; ++i) places |= (first + i) << 4 * i;
    return true;
  }
  places = static_cast<std::uint32_t>(operand.bits & 0xffff);
  return operand.selector == (parts == 4 ? Selector::bytes : Selector::halves) &&
         operand.bits >> 16 == parts;
}

/// The parts that a SIMD form writes, as a mask; all without a selector.
bool select_written(const Operand& operand, unsigned parts, std::uint32_t& mask) {
  using Selector = Operand::Selector;
  const auto single = static_cast<unsigned>(operand.selector);
  const auto first = static_cast<unsigned>(parts == 4 ? Selector::b0 : Selector::h0);
  mask = operand.selector == Selector::none ? (1u << parts) - 1 : 0;
  if (mask != 0) return true;
  if (single >= first && single < first + parts) {
    mask = 1u << (single - first);
    return true;
  }
  if (operand.selector != (parts == 4 ? Selector::bytes : Selector::halves)) return false;
  for (std::uint64_t i = 0; i < operand.bits >> 16; ++i)
    mask |= 1u << (operand.bits >> 4 * i & 0xf);
  return mask < 1u << parts;
}

bool is_several(const Operand& operand) {
  return operand.selector >= Operand::Selector::bytes;
}

bool decode_video(FunctionDecoder& d, const ptx::Instruction& in, VideoForm form, unsigned parts,
                  Code& code) {
  const ptx::Modifiers& m = in.modifiers;
  const bool set = form == VideoForm::set;
  // The comparison has no destination type.
  const Type to = set ? Type::u32 : m.types[0];
  const Type a = set ? m.types[0] : m.types[1], b = set ? m.types[1] : m.types[2];
  const std::uint32_t second = m.has(ptx::Flag::op_add)   ? 1
                               : m.has(ptx::Flag::op_min) ? 2
                               : m.has(ptx::Flag::op_max) ? 3
                                                          : 0;
  if (in.operands.size() > 3 && in.operands[3].selector != Operand::Selector::none) return false;
  auto into = static_cast<std::uint32_t>(in.operands[0].selector);
  auto select_a = static_cast<std::uint32_t>(in.operands[1].selector);
  auto select_b = static_cast<std::uint32_t>(in.operands[2].selector);
  if (parts > 1) {
    if (!select_written(in.operands[0], parts, into) ||
        !select_parts(in.operands[1], parts, 0, select_a) ||
        !select_parts(in.operands[2], parts, parts, select_b)) {
      return false;
    }
  } else {
    for (const Operand& operand : in.operands) {
      if (is_several(operand)) return false;
    }
    // A part is merged into c; with a second operation there is no place for it.
    if (into != 0 && (second != 0 || in.operands.size() != 4)) return false;
  }
  code.dst = d.destination(in.operands[0]);
  code.a = d.source(in.operands[1], Type::b32);
  code.b = d.source(in.operands[2], Type::b32);
  code.c = in.operands.size() > 3 ? d.source(in.operands[3], Type::b32) : d.constant(0, 4);
  d.set_list(code, {static_cast<std::uint32_t>(form), parts, ptx::is_signed(to), ptx::is_signed(a),
                    ptx::is_signed(b), m.has(ptx::Flag::sat), static_cast<std::uint32_t>(m.compare),
                    second, select_a, select_b, into, m.shift_mode == ptx::ShiftMode::wrap});
  code.execute = video;
  return true;
}

}  // namespace

bool decode_vmad(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const ptx::Modifiers& m = in.modifiers;
  const Operand &a = in.operands[1], &b = in.operands[2], &c = in.operands[3];
  if (in.operands[0].selector != Operand::Selector::none || is_several(a) || is_several(b)) {
    return false;
  }
  const bool minus = a.negated != b.negated;
  const bool is_signed =
      ptx::is_signed(m.types[1]) || ptx::is_signed(m.types[2]) || minus || c.negated;
  code.dst = d.destination(in.operands[0]);
  code.a = d.source(a, Type::b32);
  code.b = d.source(b, Type::b32);
  code.c = d.source(c, Type::b32);
  d.set_list(code, {ptx::is_signed(m.types[1]), ptx::is_signed(m.types[2]), is_signed,
                    m.has(ptx::Flag::sat),
                    m.has(ptx::Flag::shr7)    ? 7u
                    : m.has(ptx::Flag::shr15) ? 15u
                                              : 0u,
                    minus, c.negated, m.has(ptx::Flag::po), static_cast<std::uint32_t>(a.selector),
                    static_cast<std::uint32_t>(b.selector)});
  code.execute = multiply_add;
  return true;
}

#define TILESCOPE_VIDEO(name, form, parts)                                         \
  bool decode_##name(FunctionDecoder& d, const ptx::Instruction& in, Code& code) { \
    return decode_video(d, in, form, parts, code);                                 \
  }
TILESCOPE_VIDEO(vadd, VideoForm::add, 1)
TILESCOPE_VIDEO(vadd2, VideoForm::add, 2)
TILESCOPE_VIDEO(vadd4, VideoForm::add, 4)
TILESCOPE_VIDEO(vsub, VideoForm::sub, 1)
TILESCOPE_VIDEO(vsub2, VideoForm::sub, 2)
TILESCOPE_VIDEO(vsub4, VideoForm::sub, 4)
TILESCOPE_VIDEO(vabsdiff, VideoForm::absdiff, 1)
TILESCOPE_VIDEO(vabsdiff2, VideoForm::absdiff, 2)
TILESCOPE_VIDEO(vabsdiff4, VideoForm::absdiff, 4)
TILESCOPE_VIDEO(vmin, VideoForm::min, 1)
TILESCOPE_VIDEO(vmin2, VideoForm::min, 2)
TILESCOPE_VIDEO(vmin4, VideoForm::min, 4)
TILESCOPE_VIDEO(vmax, VideoForm::max, 1)
TILESCOPE_VIDEO(vmax2, VideoForm::max, 2)
TILESCOPE_VIDEO(vmax4, VideoForm::max, 4)
TILESCOPE_VIDEO(vavrg2, VideoForm::average, 2)
TILESCOPE_VIDEO(vavrg4, VideoForm::average, 4)
TILESCOPE_VIDEO(vshl, VideoForm::shl, 1)
TILESCOPE_VIDEO(vshr, VideoForm::shr, 1)
TILESCOPE_VIDEO(vset, VideoForm::set, 1)
TILESCOPE_VIDEO(vset2, VideoForm::set, 2)
TILESCOPE_VIDEO(vset4, VideoForm::set, 4)
#undef TILESCOPE_VIDEO

}  // namespace tilescope::emulator
