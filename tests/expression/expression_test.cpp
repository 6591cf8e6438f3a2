#include "expression/expression.hpp"

#include <gmock/gmock.h>

#include <random>
#include <tilescope/error.hpp>

namespace tilescope::expression {
namespace {

using testing::HasSubstr;

std::int64_t value(std::string_view text,
                   const std::map<std::string, std::int64_t, std::less<>>& values = {}) {
  return Expression::parse(text).evaluate(values);
}

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "(no error)";
}

TEST(Expression, BindsAsInC) {
  EXPECT_EQ(value("2 + 3 * 4"), 14);
  EXPECT_EQ(value("(2 + 3) * 4"), 20);
  EXPECT_EQ(value("20 / 3 % 4"), 2);
  EXPECT_EQ(value("10 - 4 - 3"), 3);
  EXPECT_EQ(value("1 << 2 + 1"), 8);
  EXPECT_EQ(value("1 | 6 & 3 ^ 1"), 1 | ((6 & 3) ^ 1));
  EXPECT_EQ(value("3 < 4 == 1"), 1);
  EXPECT_EQ(value("0 || 2 && 3"), 1);
  EXPECT_EQ(value("-7 / 2"), -3);
  EXPECT_EQ(value("-7 % 2"), -1);
  EXPECT_EQ(value("!0 + ~0"), 0);
  EXPECT_EQ(value("2 > 1 ? 5 : 6"), 5);
  EXPECT_EQ(value("0 ? 1 : 0 ? 2 : 3"), 3);
  EXPECT_EQ(value("min(3, max(1, 2)) + abs(-4)"), 6);
  EXPECT_EQ(value("0x10u + 2UL"), 18);
  EXPECT_EQ(value("(int)threadIdx.x / 2", {{"threadIdx.x", 7}}), 3);
}

TEST(Expression, LogicStopsEarly) {
  EXPECT_EQ(value("0 && 1 / 0"), 0);
  EXPECT_EQ(value("1 || 1 / 0"), 1);
}

TEST(Expression, RefusesWithPositionAndReason) {
  const auto parse = [](std::string_view text) {
    return refusal([text] { Expression::parse(text); });
  };
  EXPECT_THAT(parse(""), HasSubstr("expected a number, a name or '(' at its end"));
  EXPECT_THAT(parse("2 +"), HasSubstr("at its end"));
  EXPECT_THAT(parse("(2"), HasSubstr("expected ')'"));
  EXPECT_THAT(parse("i = 3"), HasSubstr("compare with =="));
  EXPECT_THAT(parse("i < 0.5"), HasSubstr("only whole numbers"));
  EXPECT_THAT(parse("sin(i)"), HasSubstr("there are min, max and abs"));
  EXPECT_THAT(parse("min(1)"), HasSubstr("takes 2 operands"));
  EXPECT_THAT(parse("99999999999999999999"), HasSubstr("beyond 64 bits"));
  EXPECT_THAT(parse("2 3"), HasSubstr("at character 3"));
  EXPECT_THAT(parse(std::string(1000, '(')), HasSubstr("nested more than"));
  EXPECT_THAT(parse(std::string(20000, '1')), HasSubstr("at most 10000"));
}

TEST(Expression, RefusesWhatHasNoValue) {
  EXPECT_THAT(refusal([] { value("1 / (2 - 2)"); }), HasSubstr("divides by zero"));
  EXPECT_THAT(refusal([] { value("9223372036854775807 + 1"); }), HasSubstr("overflows"));
  EXPECT_THAT(refusal([] { value("1 << 63"); }), HasSubstr("shifts by 63"));
  EXPECT_THAT(refusal([] { value("n + 1"); }), HasSubstr("needs a value for n"));
  EXPECT_THAT(refusal([] { value("key[3]"); }), HasSubstr("reads key[...]"));
}

TEST(Expression, PrintsWithTheFewestParentheses) {
  for (const char* text : {"a - (b - c)", "(a + b) * c", "a + b * c", "a * (b / c)", "-(a + b)",
                           "(a ? b : c) + 1", "A[i * n + k]", "min(a, b + 1)", "a - -b"}) {
    EXPECT_EQ(Expression::parse(text).text(), text);
  }
}

// Printed text means the same as the parsed text.
TEST(Expression, PrintedTextHasTheSameValue) {
  std::mt19937 random(7);
  const std::vector<std::string> operators{"+", "-", "*", "<", "==", "&&", "|", "^", "<<"};
  for (int round = 0; round < 500; ++round) {
    std::string text = "a";
    for (int i = 0; i < 6; ++i) {
      const std::string& op = operators[random() % operators.size()];
      const std::string operand = random() % 2 == 0 ? "b" : std::to_string(random() % 5);
      text = random() % 2 == 0 ? "(" + text + ") " + op + " " + operand
                               : operand + " " + op + " (" + text + ")";
    }
    const Expression first = Expression::parse(text), again = Expression::parse(first.text());
    const std::map<std::string, std::int64_t, std::less<>> values{{"a", 3}, {"b", 2}};
    std::int64_t expected = 0;
    try {
      expected = first.evaluate(values);
    } catch (const Error&) {
      EXPECT_THROW(again.evaluate(values), Error) << text;
      continue;
    }
    EXPECT_EQ(again.evaluate(values), expected) << text << " printed as " << first.text();
  }
}

TEST(Expression, DefinitionsAreReplacedWithinOneAnother) {
  const Definitions definitions{{"row", Expression::parse("base + ty")},
                                {"base", Expression::parse("16 * by")}};
  const Expression result = Expression::parse("row * n").substitute(definitions);
  EXPECT_EQ(result.text(), "(16 * by + ty) * n");
  EXPECT_EQ(result.evaluate({{"by", 2}, {"ty", 3}, {"n", 10}}), 350);
  EXPECT_THAT(refusal([] {
                Expression::parse("a").substitute(
                    {{"a", Expression::parse("b + 1")}, {"b", Expression::parse("a")}});
              }),
              HasSubstr("refers to itself"));
}

TEST(ArrayAccess, TakesOneSubscriptedName) {
  const ArrayAccess access = parse_access("tile[threadIdx.y][k + 1]");
  EXPECT_EQ(access.array, "tile");
  ASSERT_EQ(access.indices.size(), 2U);
  EXPECT_EQ(access.indices[1].text(), "k + 1");
  EXPECT_THAT(refusal([] { parse_access("a + b"); }), HasSubstr("not an access to an array"));
  EXPECT_THAT(refusal([] { parse_access("a[1] + 2"); }), HasSubstr("not an access to an array"));
}

}  // namespace
}  // namespace tilescope::expression
