#include <cmath>
#include <limits>

#include "operations/numerics/conversion.hpp"
#include "operations/numerics/product_reference.hpp"
#include "support/matrices.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::operations {
namespace {

using testing::TestMatrix;

constexpr DataType types[] = {DataType::float16, DataType::bfloat16, DataType::float32,
                              DataType::float64};
// 70 x 130 is more than one tile in each direction and a multiple of none.
class Convert : public ::testing::TestWithParam<std::tuple<DataType, DataType, Order, Order>> {};

TEST_P(Convert, EveryElementIsRoundedOnceAndGapsStay) {
  const auto [from_type, to_type, from_order, to_order] = GetParam();
  TestMatrix from(from_type, 70, 130, from_order, 3), to(to_type, 70, 130, to_order, 5),
      rounded(to_type, 1, 1);
  from.fill_random(1);
  from.set(0, 0, std::numeric_limits<double>::infinity());
  from.set(69, 129, 6e-8);  // subnormal in float16
  convert_matrix(from.view(), to.view());
  for (std::int64_t i = 0; i < 70; ++i) {
    for (std::int64_t j = 0; j < 130; ++j) {
      rounded.set(0, 0, from.get(i, j));
      ASSERT_EQ(to.get(i, j), rounded.get(0, 0)) << i << ", " << j;
    }
  }
  EXPECT_TRUE(to.gaps_are_untouched());
}

INSTANTIATE_TEST_SUITE_P(All, Convert,
                         ::testing::Combine(::testing::ValuesIn(types), ::testing::ValuesIn(types),
                                            ::testing::ValuesIn(testing::both_orders),
                                            ::testing::ValuesIn(testing::both_orders)));

TEST(Convert, NanStaysNan) {
  for (const DataType from_type : types) {
    for (const DataType to_type : types) {
      TestMatrix from(from_type, 1, 3), to(to_type, 1, 3);
      from.fill([](auto, auto) { return NAN; });
      convert_matrix(from.view(), to.view());
      for (std::int64_t j = 0; j < 3; ++j) EXPECT_TRUE(std::isnan(to.get(0, j)));
    }
  }
}

// 1 + 2^-11 + 2^-40 is above the tie between two float16; by way of float32 it would be the tie.
TEST(Convert, DoesNotRoundTwice) {
  TestMatrix from(DataType::float64, 1, 1), to(DataType::float16, 1, 1);
  from.set(0, 0, 1 + 0x1p-11 + 0x1p-40);
  convert_matrix(from.view(), to.view());
  EXPECT_EQ(to.get(0, 0), 1 + 0x1p-10);
  TestMatrix brain(DataType::bfloat16, 1, 1);
  from.set(0, 0, 1 + 0x1p-8 + 0x1p-40);
  convert_matrix(from.view(), brain.view());
  EXPECT_EQ(brain.get(0, 0), 1 + 0x1p-7);
}

TEST(ConvertedMatrix, TakesTheCallersMemoryWhereItCan) {
  TestMatrix matrix(DataType::float32, 4, 5, Order::row_major, 2);
  const ConvertedMatrix same(matrix.view(), DataType::float32, Order::row_major);
  EXPECT_EQ(same.view().data, matrix.view().data);
  EXPECT_EQ(same.view().leading, 7);
  const ConvertedMatrix turned(matrix.view(), DataType::float32, Order::column_major);
  EXPECT_NE(turned.view().data, matrix.view().data);
  EXPECT_EQ(turned.view().leading, 4);
}

TEST(ConvertedBlas, MixedTypesAreSummedInTheWiderOne) {
  for (const DataType a_type : types) {
    for (const DataType b_type : types) {
      for (const DataType c_type : types) {
        TestMatrix a(a_type, 33, 65, Order::row_major, 1), b(b_type, 65, 17, Order::column_major),
            c(c_type, 33, 17, Order::column_major, 2);
        a.fill_random(1);
        b.fill_random(2);
        converted_blas_matmul(a.view(), b.view(), c.view(),
                              blas_cell(product_shape(a.view(), b.view())));
        const bool wide = a_type == DataType::float64 || b_type == DataType::float64 ||
                          c_type == DataType::float64;
        const double sum_u = wide ? 0x1p-53 : 0x1p-24;
        const double c_u = c_type == DataType::float16    ? 0x1p-11
                           : c_type == DataType::bfloat16 ? 0x1p-8
                           : c_type == DataType::float32  ? 0x1p-24
                                                          : 0x1p-53;
        for (std::int64_t i = 0; i < 33; ++i) {
          for (std::int64_t j = 0; j < 17; ++j) {
            const auto exact = exact_element(a, b, i, j);
            const double sum_bound = 67 * sum_u * exact.magnitude;
            ASSERT_LE(std::abs(c.get(i, j) - exact.value),
                      sum_bound + c_u * (std::abs(exact.value) + sum_bound))
                << name_of(a_type) << ' ' << name_of(b_type) << ' ' << name_of(c_type);
          }
        }
        EXPECT_TRUE(c.gaps_are_untouched());
      }
    }
  }
}

}  // namespace
}  // namespace tilescope::operations
