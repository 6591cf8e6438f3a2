#include "ptx/literal.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "ptx/constant_expression.hpp"
#include "ptx/diagnostics.hpp"

namespace tilescope::ptx {
namespace {

std::uint64_t bits_of(double value) {
  return std::bit_cast<std::uint64_t>(value);
}
std::uint64_t bits_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

std::uint64_t integer(std::string_view text) {
  Lexer lexer(text);
  return parse_integer_constant(lexer);
}

Operand immediate(std::string_view text) {
  Lexer lexer(text);
  const Number number = parse_constant(lexer);
  Operand operand;
  operand.kind = Operand::Kind::immediate;
  operand.literal = number.literal;
  operand.bits = number.bits;
  return operand;
}

TEST(Number, IntegersInEveryBase) {
  EXPECT_EQ(parse_number("42")->bits, 42u);
  EXPECT_EQ(parse_number("0x2A")->bits, 42u);
  EXPECT_EQ(parse_number("052")->bits, 42u);
  EXPECT_EQ(parse_number("0b101010")->bits, 42u);
  EXPECT_EQ(parse_number("0")->bits, 0u);
  EXPECT_FALSE(parse_number("42")->is_unsigned);
  EXPECT_TRUE(parse_number("42U")->is_unsigned);
  EXPECT_EQ(parse_number("0xFFFFFFFFFFFFFFFF")->bits, ~0ull);
  EXPECT_TRUE(parse_number("18446744073709551615")->is_unsigned);
  EXPECT_EQ(parse_number("0xBEEF")->bits, 0xbeefu) << "an E in hexadecimal is no exponent";
}

TEST(Number, FloatsKeepTheirBits) {
  EXPECT_EQ(*parse_number("0f3F800000"), (Number{Literal::single, false, bits_of(1.0f)}));
  EXPECT_EQ(*parse_number("0F7fa00000"), (Number{Literal::single, false, 0x7fa00000}));
  EXPECT_EQ(*parse_number("0dC000000000000000"), (Number{Literal::real, false, bits_of(-2.0)}));
  EXPECT_EQ(*parse_number("1.5"), (Number{Literal::real, false, bits_of(1.5)}));
  EXPECT_EQ(*parse_number("25e-1"), (Number{Literal::real, false, bits_of(2.5)}));
}

TEST(Number, RefusesWhatIsNone) {
  for (const char* text : {"", "0x", "09", "0b2", "1x", "0f3F8", "0d123", "1.5.2", "0fGGGGGGGG",
                           "18446744073709551616", "1e999", "U"}) {
    EXPECT_FALSE(parse_number(text).has_value()) << text;
  }
}

TEST(Expression, FollowsThePrecedenceOfC) {
  EXPECT_EQ(integer("1 + 2 * 3"), 7u);
  EXPECT_EQ(integer("(1 + 2) * 3"), 9u);
  EXPECT_EQ(integer("1 << 4 | 3"), 19u);
  EXPECT_EQ(integer("10 - 2 - 3"), 5u);
  EXPECT_EQ(integer("-5 + 3"), static_cast<std::uint64_t>(-2));
  EXPECT_EQ(integer("~0 & 0xF0 ^ 0x11"), 0xE1u);
  EXPECT_EQ(integer("3 > 2 ? 7 : 9"), 7u);
  EXPECT_EQ(integer("0 && 1 || 1"), 1u);
  EXPECT_EQ(integer("!3 == 0"), 1u);
  EXPECT_EQ(integer("WARP_SZ / 3 % 4"), 2u);
  EXPECT_EQ(integer("2>=2"), 1u);
}

TEST(Expression, KnowsSignedFromUnsigned) {
  EXPECT_EQ(integer("-8 >> 1"), static_cast<std::uint64_t>(-4));
  EXPECT_EQ(integer("(.u64) -8 >> 1"), (~0ull - 7) >> 1);
  EXPECT_EQ(integer("-1 < 0"), 1u);
  EXPECT_EQ(integer("-1 < 0U"), 0u);
  EXPECT_EQ(integer("-7 / 2"), static_cast<std::uint64_t>(-3));
  EXPECT_EQ(integer("1 << 64"), 0u);
  EXPECT_EQ(integer("(-9223372036854775807 - 1) / -1"), 1ull << 63) << "must not trap";
}

TEST(Expression, RefusesWithOneLine) {
  EXPECT_THROW(integer("1 / 0"), Failure);
  EXPECT_THROW(integer("5 % (3 - 3)"), Failure);
  EXPECT_THROW(integer("(1"), Failure);
  EXPECT_THROW(integer("1 ? 2"), Failure);
  EXPECT_THROW(integer("1.5"), Failure);
  EXPECT_THROW(integer("1.5 + 1"), Failure);
  EXPECT_THROW(integer(std::string(100000, '(')), Failure);
  EXPECT_THROW(integer(std::string(100000, '-') + "1"), Failure);
}

TEST(ImmediateBits, IntegersTruncate) {
  EXPECT_EQ(immediate_bits(immediate("-1"), Type::s32), 0xffffffffu);
  EXPECT_EQ(immediate_bits(immediate("-1"), Type::b16), 0xffffu);
  EXPECT_EQ(immediate_bits(immediate("-1"), Type::u64), ~0ull);
  EXPECT_EQ(immediate_bits(immediate("2"), Type::pred), 1u);
}

TEST(ImmediateBits, FloatsConvertOnceAndKeepTheirNan) {
  EXPECT_EQ(immediate_bits(immediate("0f3F800000"), Type::f32), bits_of(1.0f));
  EXPECT_EQ(immediate_bits(immediate("0f3F800000"), Type::f64), bits_of(1.0));
  EXPECT_EQ(immediate_bits(immediate("0.1"), Type::f32), bits_of(0.1f));
  EXPECT_EQ(immediate_bits(immediate("-1.5"), Type::f64), bits_of(-1.5));
  EXPECT_EQ(immediate_bits(immediate("-0f3F800000"), Type::f32), bits_of(-1.0f));
  EXPECT_EQ(immediate_bits(immediate("3"), Type::f32), bits_of(3.0f));
  EXPECT_EQ(immediate_bits(immediate("0f7FA00001"), Type::f32), 0x7fa00001u) << "signalling";
  EXPECT_EQ(immediate_bits(immediate("0f3F800000"), Type::b32), 0x3f800000u);
}

TEST(ImmediateBits, HalvesAreBitsUnlessWrittenAsReal) {
  EXPECT_EQ(immediate_bits(immediate("0x3C00"), Type::f16), 0x3c00u);
  EXPECT_EQ(immediate_bits(immediate("1.0"), Type::f16), 0x3c00u);
  EXPECT_EQ(immediate_bits(immediate("1.0"), Type::bf16), 0x3f80u);
}

}  // namespace
}  // namespace tilescope::ptx
