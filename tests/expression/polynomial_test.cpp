#include "expression/polynomial.hpp"

#include <gtest/gtest.h>

namespace tilescope::expression {
namespace {

Polynomial of(std::string_view text) {
  return Polynomial::of(Expression::parse(text));
}

TEST(Polynomial, MultipliesOut) {
  EXPECT_EQ(of("(a + 2) * (b - 1)").text(), "-2 - a + a * b + 2 * b");
  EXPECT_EQ(of("a - a").text(), "0");
  EXPECT_EQ(of("x << 3").text(), "8 * x");
  EXPECT_EQ(of("-(a - 3)").text(), "3 - a");
}

TEST(Polynomial, CoefficientOfAVariable) {
  const Polynomial index = of("(by * 16 + ty) * n + k");
  EXPECT_EQ(index.coefficient_of("ty").text(), "n");
  EXPECT_EQ(index.coefficient_of("by").text(), "16 * n");
  EXPECT_EQ(index.coefficient_of("k").text(), "1");
  EXPECT_EQ(index.coefficient_of("tx").text(), "0");
  EXPECT_EQ(index.dependence_on("ty"), Polynomial::Dependence::linear);
  EXPECT_EQ(index.dependence_on("tx"), Polynomial::Dependence::none);
}

TEST(Polynomial, NonlinearIsRecognised) {
  for (const char* text : {"tx * tx", "tx / 2", "tx % 4 + tx", "key[tx]", "tx > 2 ? 1 : 0"}) {
    EXPECT_EQ(of(text).dependence_on("tx"), Polynomial::Dependence::nonlinear) << text;
  }
  EXPECT_EQ(of("tx * (ty / 2)").dependence_on("tx"), Polynomial::Dependence::linear);
}

TEST(Polynomial, SizesAreWhatMultiplies) {
  const auto sizes = of("row * n + k").multiplied_variables();
  EXPECT_TRUE(sizes.contains("n"));
  EXPECT_TRUE(sizes.contains("row"));
  EXPECT_FALSE(sizes.contains("k"));
}

}  // namespace
}  // namespace tilescope::expression
