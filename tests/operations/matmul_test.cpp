// The public matmul() on the CPU device.
#include <cmath>
#include <tilescope/device.hpp>
#include <tilescope/matmul.hpp>

#include "support/matrices.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope {
namespace {

using testing::error_of;
using testing::exact_element;
using testing::TestMatrix;

class Matmul : public ::testing::Test {
 protected:
  std::shared_ptr<Device> cpu_ = Device::open("cpu");
};

TEST_F(Matmul, SmallIntegersAreExactInEveryTypeAndOrder) {
  constexpr DataType types[] = {DataType::float16, DataType::bfloat16, DataType::float32,
                                DataType::float64};
  constexpr Order orders[] = {Order::row_major, Order::column_major};
  for (const DataType a_type : types) {
    for (const DataType b_type : types) {
      for (const Order a_order : orders) {
        for (const Order c_order : orders) {
          TestMatrix a(a_type, 9, 11, a_order, 2), b(b_type, 11, 5, Order::row_major, 1),
              c(product_type(a_type, b_type), 9, 5, c_order, 3);
          a.fill_integers(1);
          b.fill_integers(2);
          const MatmulReport report = matmul(*cpu_, a.view(), b.view(), c.view());
          EXPECT_EQ(report.variant, "cpu_blas");
          EXPECT_GT(report.compute_ms, 0.0);
          for (std::int64_t i = 0; i < 9; ++i) {
            for (std::int64_t j = 0; j < 5; ++j) {
              ASSERT_EQ(c.get(i, j), exact_element(a, b, i, j).value);
            }
          }
          EXPECT_TRUE(c.gaps_are_untouched());
        }
      }
    }
  }
}

TEST_F(Matmul, NothingToSumIsZero) {
  TestMatrix a(DataType::float32, 3, 0), b(DataType::float32, 0, 2),
      c(DataType::float32, 3, 2, Order::column_major, 4);
  c.fill([](auto, auto) { return NAN; });
  matmul(*cpu_, a.view(), b.view(), c.view());
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 2; ++j) EXPECT_EQ(c.get(i, j), 0.0);
  }
  EXPECT_TRUE(c.gaps_are_untouched());
}

TEST_F(Matmul, EmptyResults) {
  TestMatrix a(DataType::float32, 0, 4), b(DataType::float32, 4, 2), c(DataType::float32, 0, 2);
  EXPECT_NO_THROW(matmul(*cpu_, a.view(), b.view(), c.view()));
}

TEST_F(Matmul, NanAndInfinityPropagate) {
  TestMatrix a(DataType::float32, 2, 2), b(DataType::float32, 2, 2), c(DataType::float32, 2, 2);
  a.fill([](auto i, auto j) { return i == 0 && j == 1 ? NAN : 1.0; });
  b.fill([](auto i, auto j) { return i == 1 && j == 0 ? INFINITY : 1.0; });
  matmul(*cpu_, a.view(), b.view(), c.view());
  EXPECT_TRUE(std::isnan(c.get(0, 0)));
  EXPECT_TRUE(std::isnan(c.get(0, 1)));
  EXPECT_EQ(c.get(1, 0), INFINITY);
  EXPECT_EQ(c.get(1, 1), 2.0);
  // 0 x infinity is NaN, whatever the library does with zeros.
  a.fill([](auto, auto) { return 0.0; });
  matmul(*cpu_, a.view(), b.view(), c.view());
  EXPECT_TRUE(std::isnan(c.get(0, 0)));
  EXPECT_EQ(c.get(0, 1), 0.0);
}

TEST_F(Matmul, ShapesThatDoNotFitAreNamed) {
  TestMatrix a(DataType::float32, 2, 3), b(DataType::float32, 4, 5), c(DataType::float32, 2, 5),
      good(DataType::float32, 3, 5);
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { matmul(*cpu_, a.view(), b.view(), c.view()); }),
              ::testing::AllOf(::testing::HasSubstr("2 x 3"), ::testing::HasSubstr("4 x 5")));
  EXPECT_EQ(error_of(ErrorKind::usage, [&] { matmul(*cpu_, a.view(), good.view(), b.view()); }),
            "C is 4 x 5 but A (2 x 3) times B (3 x 5) is 2 x 5");
}

TEST_F(Matmul, InvalidViews) {
  TestMatrix a(DataType::float32, 2, 3), b(DataType::float32, 3, 2), c(DataType::float32, 2, 2);
  MatrixView narrow = a.view();
  narrow.leading = 2;
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { matmul(*cpu_, narrow, b.view(), c.view()); }),
              ::testing::StartsWith("A"));
  MatrixView missing = b.view();
  missing.data = nullptr;
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { matmul(*cpu_, a.view(), missing, c.view()); }),
              ::testing::StartsWith("B"));
  MatrixView integers = c.view();
  integers.type = DataType::int32;
  EXPECT_EQ(error_of(ErrorKind::usage, [&] { matmul(*cpu_, a.view(), b.view(), integers); }),
            "C is int32: matmul takes float16, bfloat16, float32 and float64");
}

TEST_F(Matmul, VariantsOfTheCpu) {
  TestMatrix a(DataType::float32, 2, 2), b(DataType::float32, 2, 2), c(DataType::float32, 2, 2);
  a.fill_integers(1);
  b.fill_integers(2);
  EXPECT_EQ(matmul(*cpu_, a.view(), b.view(), c.view(), {.variant = "cpu_blas"}).variant,
            "cpu_blas");
  const auto message = [&](const char* variant) {
    return error_of(ErrorKind::usage,
                    [&] { matmul(*cpu_, a.view(), b.view(), c.view(), {.variant = variant}); });
  };
  EXPECT_EQ(message("tiled_16"),
            "variant tiled_16 does not run on the cpu device, which has cpu_blas; use --device "
            "cuda or emulated");
  EXPECT_THAT(message("tiled_17"), ::testing::HasSubstr("did you mean tiled_1"));
}

TEST(ProductType, IsTheWiderOne) {
  EXPECT_EQ(product_type(DataType::float16, DataType::float16), DataType::float16);
  EXPECT_EQ(product_type(DataType::float16, DataType::float32), DataType::float32);
  EXPECT_EQ(product_type(DataType::float64, DataType::float32), DataType::float64);
  EXPECT_EQ(product_type(DataType::bfloat16, DataType::bfloat16), DataType::bfloat16);
  EXPECT_EQ(product_type(DataType::bfloat16, DataType::float16), DataType::float32);
}

}  // namespace
}  // namespace tilescope
