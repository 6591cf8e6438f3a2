// The products that bench/products draws.
#include "bench/products/drawn_products.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tilescope/error.hpp>
#include <vector>

namespace tilescope::products {
namespace {

std::vector<std::int64_t> extents_of(const NamedProduct& product) {
  return {product.shape.m, product.shape.n, product.shape.k};
}

TEST(DrawnProducts, EqualSeedsGiveEqualProducts) {
  const Draw draw{.count = 50, .seed = 7};
  const auto one = draw_products(draw), other = draw_products(draw);
  const auto elsewhere = draw_products({.count = 50, .seed = 8});
  ASSERT_EQ(one.size(), 50U);
  int differ = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(extents_of(one[i]), extents_of(other[i]));
    EXPECT_EQ(one[i].form, other[i].form);
    differ += extents_of(one[i]) != extents_of(elsewhere[i]) ? 1 : 0;
  }
  EXPECT_GE(differ, 49);
  // The same on every machine: a table names its products by the seed alone.
  EXPECT_EQ(extents_of(one[0]), (std::vector<std::int64_t>{2488, 6406, 33}));
  EXPECT_EQ(text_of(one[0].form), "NT C^T");
}

TEST(DrawnProducts, AFormIsReadAsItIsPrinted) {
  for (const NamedProduct& product : draw_products({.count = 100, .seed = 3})) {
    EXPECT_EQ(parse_form(text_of(product.form)), product.form) << text_of(product.form);
  }
  for (const char* wrong : {"", "N", "XN", "NN +C C^T", "NN +"}) {
    EXPECT_THROW(parse_form(wrong), Error) << wrong;
  }
}

TEST(DrawnProducts, ManyProductsAreBatches) {
  for (const NamedProduct& product : many_products()) {
    const operations::GemmProblem problem = problem_of(product, Precision::bf16);
    EXPECT_GE(problem.batch, 1000);
    EXPECT_EQ(problem.a.batch_stride, product.shape.m * product.shape.k);
    EXPECT_EQ(problem.c.batch_stride, product.shape.m * product.shape.n);
  }
  EXPECT_EQ(problem_of(draw_products({.count = 1}).front(), Precision::bf16).batch, 1);
}

TEST(DrawnProducts, ExtentsAreLogUniformAndIndependent) {
  const int count = 4000;
  const auto products = draw_products({.count = count, .seed = 3});
  std::array<std::array<int, 2>, 3> halves{};  // below and above the geometric middle
  int both_low = 0;
  for (const NamedProduct& product : products) {
    const std::array<double, 3> middles{std::sqrt(64.0 * 8192), std::sqrt(64.0 * 8192),
                                        std::sqrt(16.0 * 8192)};
    const auto extents = extents_of(product);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_GE(extents[i], i == 2 ? 16 : 64);
      EXPECT_LE(extents[i], 8192);
      ++halves[i][static_cast<double>(extents[i]) < middles[i] ? 0 : 1];
    }
    both_low +=
        static_cast<double>(extents[0]) < middles[0] && static_cast<double>(extents[1]) < middles[1]
            ? 1
            : 0;
  }
  // Four standard deviations of a fair coin.
  const double allowed = 4.0 * std::sqrt(count / 4.0);
  for (const auto& half : halves) EXPECT_NEAR(half[0], count / 2.0, allowed);
  EXPECT_NEAR(both_low, count / 4.0, allowed);
}

TEST(DrawnProducts, AlignedExtentsAreMultiplesWithinTheRange) {
  const auto products =
      draw_products({.count = 500, .alignment = 8, .rows_and_columns = {60, 100}, .k = {8, 8}});
  std::int64_t least = 1000, most = 0;
  for (const NamedProduct& product : products) {
    EXPECT_EQ(product.shape.m % 8, 0);
    EXPECT_EQ(product.shape.k, 8);
    least = std::min({least, product.shape.m, product.shape.n});
    most = std::max({most, product.shape.m, product.shape.n});
  }
  EXPECT_EQ(least, 64);
  EXPECT_EQ(most, 96);
  EXPECT_THROW(draw_products({.count = 1, .alignment = 16, .rows_and_columns = {5, 9}}), Error);
}

TEST(DrawnProducts, ColumnsMayHaveARangeOfTheirOwn) {
  for (const NamedProduct& product :
       draw_products({.count = 200, .rows_and_columns = {3, 9}, .columns = Range{50, 60}})) {
    EXPECT_TRUE(product.shape.m >= 3 && product.shape.m <= 9) << product.shape.m;
    EXPECT_TRUE(product.shape.n >= 50 && product.shape.n <= 60) << product.shape.n;
  }
}

TEST(DrawnProducts, FormsAreDrawnUnlessPlain) {
  const auto products = draw_products({.count = 2000, .seed = 5});
  const auto count = [&](auto&& which) {
    return std::count_if(products.begin(), products.end(),
                         [&](const NamedProduct& one) { return which(one.form); });
  };
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      EXPECT_NEAR(
          count([&](const Form& form) { return form.a_transposed == a && form.b_transposed == b; }),
          500, 80);
    }
  }
  EXPECT_NEAR(count([](const Form& form) { return form.c_by_columns; }), 500, 80);
  EXPECT_NEAR(count([](const Form& form) { return form.adds_c; }), 500, 80);
  EXPECT_NEAR(count([](const Form& form) { return form.has_bias; }), 500, 80);
  const auto plain = draw_products({.count = 20, .seed = 5, .only_plain = true});
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(plain[i].form, Form{});
    EXPECT_EQ(extents_of(plain[i]), extents_of(products[i]));  // the same shapes
  }
}

TEST(DrawnProducts, AColumnMajorCIsTheRowMajorProductOfExchangedOperands) {
  const NamedProduct product{
      .shape = {100, 200, 300}, .form = {.a_transposed = true, .c_by_columns = true}, .set = ""};
  const operations::GemmProblem problem = problem_of(product, Precision::bf16);
  EXPECT_EQ(problem.shape.m, 200);
  EXPECT_EQ(problem.shape.n, 100);
  EXPECT_EQ(problem.shape.k, 300);
  // A of the problem is B^T, a row-major k x n matrix read as a column-major n x k one.
  EXPECT_EQ(problem.a.order, Order::column_major);
  EXPECT_EQ(problem.a.leading, 200);
  // B of the problem is A^T: the given A lies in columns of m.
  EXPECT_EQ(problem.b.order, Order::row_major);
  EXPECT_EQ(problem.b.leading, 100);
}

TEST(DrawnProducts, RangesAreParsedOrRefused) {
  EXPECT_EQ(parse_range("--range", "64:8192").most, 8192);
  for (const char* text : {"64", "64:", "64:12x", ":9", ""}) {
    EXPECT_THROW(parse_range("--range", text), Error) << text;
  }
}

}  // namespace
}  // namespace tilescope::products
