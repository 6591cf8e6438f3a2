#include "emulator/compiled/known_lanes.hpp"

#include <algorithm>

#include "base/one_of.hpp"

namespace tilescope::emulator::compiled {
namespace {

using Word = std::uint64_t;

std::int64_t as_signed(Word value, unsigned bytes) {
  return bytes == 8 ? static_cast<std::int64_t>(value)
                    : std::int64_t{static_cast<std::int32_t>(value)};
}

bool compares(const Operation& operation, Word a, Word b) {
  using ptx::Compare;
  const std::int64_t sa = as_signed(a, operation.width), sb = as_signed(b, operation.width);
  const bool less = operation.is_signed ? sa < sb : a < b;
  switch (operation.comparison) {
    case Compare::eq:
      return a == b;
    case Compare::ne:
      return a != b;
    case Compare::lt:
      return less;
    case Compare::le:
      return less || a == b;
    case Compare::gt:
      return !less && a != b;
    case Compare::ge:
      return !less;
    case Compare::lo:
      return a < b;
    case Compare::ls:
      return a <= b;
    case Compare::hi:
      return a > b;
    default:  // hs
      return a >= b;
  }
}

/// By 0 the quotient is all ones, and the remainder the dividend.
Word divided(const Operation& operation, Word a, Word b) {
  const bool quotient = operation.act == Act::divide;
  if (b == 0) return quotient ? ~Word{0} : a;
  if (!operation.is_signed) return quotient ? a / b : a % b;
  const std::int64_t sa = as_signed(a, operation.width), sb = as_signed(b, operation.width);
  if (sb == -1) return quotient ? Word{0} - a : 0;
  return static_cast<Word>(quotient ? sa / sb : sa % sb);
}

/// Amounts of the width or more give 0, or copies of the sign.
Word shifted(const Operation& operation, Word a, Word by) {
  const unsigned bits = operation.width * 8u;
  if (operation.act == Act::shift_left) return by < bits ? a << by : 0;
  if (!operation.is_signed) return by < bits ? a >> by : 0;
  return static_cast<Word>(as_signed(a, operation.width) >> std::min<Word>(by, bits - 1));
}

Word extended(const Operation& operation, Word a) {
  return operation.is_signed ? static_cast<Word>(as_signed(a, 4)) : a & 0xffffffffu;
}

Word extreme(const Operation& operation, Word a, Word b) {
  const bool less =
      operation.is_signed ? as_signed(a, operation.width) < as_signed(b, operation.width) : a < b;
  return less == (operation.act == Act::minimum) ? a : b;
}

/// Bits beyond the width may be anything.
Word result_of(const Operation& operation, Word a, Word b, Word c) {
  switch (operation.act) {
    case Act::add_constant:
      return a + static_cast<Word>(operation.code->offset);
    case Act::add:
      return a + b;
    case Act::subtract:
      return a - b;
    case Act::multiply:
      return a * b;
    case Act::multiply_add:
      return a * b + c;
    case Act::multiply_high:
      return extended(operation, a) * extended(operation, b) >> 32;
    case Act::multiply_wide:
      return extended(operation, a) * extended(operation, b);
    case Act::multiply_add_wide:
      return extended(operation, a) * extended(operation, b) + c;
    case Act::divide:
    case Act::remainder:
      return divided(operation, a, b);
    case Act::shift_left:
    case Act::shift_right:
      return shifted(operation, a, b);
    case Act::bit_and:
      return a & b;
    case Act::bit_or:
      return a | b;
    case Act::bit_xor:
      return a ^ b;
    case Act::bit_not:
      return ~a;
    case Act::keep_bits:
      return a & operation.mask;
    case Act::negate:
      return Word{0} - a;
    case Act::minimum:
    case Act::maximum:
      return extreme(operation, a, b);
    case Act::widen:
      return extended(operation, a);
    case Act::compare:
      return compares(operation, a, b) ? 1 : 0;
    case Act::select:
      return (c != 0) != operation.flip ? a : b;
    default:  // move, narrow
      return a;
  }
}

bool is_known(const Operation& operation) {
  return !operation.real && operation.in.size() <= 3 &&
         is_one_of(operation.act, {Act::move,          Act::add_constant,  Act::add,
                                   Act::subtract,      Act::multiply,      Act::multiply_add,
                                   Act::multiply_high, Act::multiply_wide, Act::multiply_add_wide,
                                   Act::divide,        Act::remainder,     Act::shift_left,
                                   Act::shift_right,   Act::bit_and,       Act::bit_or,
                                   Act::bit_xor,       Act::bit_not,       Act::keep_bits,
                                   Act::negate,        Act::minimum,       Act::maximum,
                                   Act::widen,         Act::narrow,        Act::compare,
                                   Act::select});
}

}  // namespace

std::optional<LaneValues> known_result(const Operation& operation, std::span<const LaneValues> in,
                                       unsigned bytes, bool uniform) {
  if (!is_known(operation)) return std::nullopt;
  const Word kept = bytes == 8 ? ~Word{0} : bytes == 4 ? 0xffffffffu : 1;
  const bool predicates = bytes == 0 && operation.act != Act::compare;
  LaneValues result;
  for (std::size_t lane = 0; lane < (uniform ? 1 : result.size()); ++lane) {
    const auto operand = [&](std::size_t i) { return i < in.size() ? in[i][lane] : 0; };
    const Word a = predicates && operation.flip ? ~operand(0) : operand(0);
    const Word b = predicates && operation.second_flip ? ~operand(1) : operand(1);
    result[lane] = result_of(operation, a, b, operand(2)) & kept;
  }
  if (uniform) result.fill(result[0]);
  return result;
}

}  // namespace tilescope::emulator::compiled
