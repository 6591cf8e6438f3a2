#include "ptx/literal.hpp"

#include <bit>
#include <charconv>
#include <limits>

#include "base/half.hpp"

namespace tilescope::ptx {
namespace {

std::optional<std::uint64_t> parse_digits(std::string_view digits, int base) {
  std::uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, base);
  if (digits.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

std::optional<Number> parse_bits(std::string_view digits, std::size_t count, Literal literal) {
  if (digits.size() != count) return std::nullopt;
  const auto bits = parse_digits(digits, 16);
  if (!bits) return std::nullopt;
  return Number{literal, false, *bits};
}

std::optional<Number> parse_real(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return Number{Literal::real, false, std::bit_cast<std::uint64_t>(value)};
}

std::optional<Number> parse_integer(std::string_view text) {
  Number number;
  if (text.back() == 'U' || text.back() == 'u') {
    number.is_unsigned = true;
    text.remove_suffix(1);
  }
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char mark = text[1];
    base = mark == 'x' || mark == 'X' ? 16 : mark == 'b' || mark == 'B' ? 2 : 8;
    text.remove_prefix(base == 8 ? 1 : 2);
  }
  const auto value = parse_digits(text, base);
  if (!value) return std::nullopt;
  number.bits = *value;
  if (*value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    number.is_unsigned = true;
  }
  return number;
}

double real_value(const Operand& immediate) {
  if (immediate.literal == Literal::real) return std::bit_cast<double>(immediate.bits);
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(immediate.bits)));
}

/// An integer literal in place of a float counts as a signed number.
std::uint64_t float_bits(const Operand& immediate, bool is_double) {
  if (immediate.literal == Literal::integer) {
    const auto value = static_cast<std::int64_t>(immediate.bits);
    return is_double ? std::bit_cast<std::uint64_t>(static_cast<double>(value))
                     : std::bit_cast<std::uint32_t>(static_cast<float>(value));
  }
  // Bits of the right width pass unchanged: a conversion would quieten a signalling NaN.
  if (!is_double && immediate.literal == Literal::single) return immediate.bits;
  if (is_double && immediate.literal == Literal::real) return immediate.bits;
  const double value = real_value(immediate);
  return is_double ? std::bit_cast<std::uint64_t>(value)
                   : std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

std::uint64_t truncate(std::uint64_t bits, unsigned width) {
  return width == 0 || width >= 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
}

}  // namespace

std::optional<Number> parse_number(std::string_view text) {
  if (text.empty()) return std::nullopt;
  if (text.size() > 1 && text[0] == '0') {
    const std::string_view digits = text.substr(2);
    if (text[1] == 'f' || text[1] == 'F') return parse_bits(digits, 8, Literal::single);
    if (text[1] == 'd' || text[1] == 'D') return parse_bits(digits, 16, Literal::real);
    if (text[1] == 'x' || text[1] == 'X') return parse_integer(text);
  }
  if (text.find_first_of(".eE") != std::string_view::npos) return parse_real(text);
  return parse_integer(text);
}

std::uint64_t immediate_bits(const Operand& immediate, Type type) {
  switch (type) {
    case Type::f64:
      return float_bits(immediate, true);
    case Type::f32:
    case Type::tf32:
      return float_bits(immediate, false);
    case Type::f16:
      if (immediate.literal != Literal::integer) return float64_to_float16(real_value(immediate));
      break;
    case Type::bf16:
      if (immediate.literal != Literal::integer) return float64_to_bfloat16(real_value(immediate));
      break;
    case Type::pred:
      return immediate.bits != 0 ? 1 : 0;
    default:
      break;
  }
  return truncate(immediate.bits, bit_width(type));
}

}  // namespace tilescope::ptx
