#include <chrono>
#include <cmath>
#include <thread>

#include "operations/numerics/product_reference.hpp"
#include "support/matrices.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::operations {
namespace {

using testing::TestMatrix;

std::vector<float> floats(const TestMatrix& matrix) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < matrix.view().rows; ++i) {
    for (std::int64_t j = 0; j < matrix.view().columns; ++j) {
      values.push_back(static_cast<float>(matrix.get(i, j)));
    }
  }
  return values;
}

constexpr MatmulShape reference_shapes[] = {{1, 1, 1}, {1, 7, 5},    {7, 1, 5},    {5, 7, 1},
                                            {2, 3, 0}, {13, 17, 19}, {64, 64, 64}, {31, 65, 127}};

// The reference sums in double and rounds once: only the last bit of a float may differ from the
// long double sum, and only near a tie.
TEST(Reference, RoundsTheExactSumOnce) {
  for (const MatmulShape& s : reference_shapes) {
    TestMatrix a(DataType::float32, s.m, s.k), b(DataType::float32, s.k, s.n);
    a.fill_random(1);
    b.fill_random(2);
    std::vector<float> c(static_cast<std::size_t>(s.m * s.n), -1.0F);
    reference_matmul(s, floats(a).data(), floats(b).data(), c.data());
    for (std::int64_t i = 0; i < s.m; ++i) {
      for (std::int64_t j = 0; j < s.n; ++j) {
        const auto exact = exact_element(a, b, i, j);
        ASSERT_NEAR(c[static_cast<std::size_t>(i * s.n + j)], exact.value,
                    0x1p-24 * std::abs(exact.value) + 1e-15 * exact.magnitude)
            << shape_text(s) << " at " << i << ", " << j;
      }
    }
  }
}

TEST(Reference, NothingToDo) {
  float untouched = 5;
  reference_matmul({0, 3, 2}, nullptr, nullptr, &untouched);
  reference_matmul({3, 0, 2}, nullptr, nullptr, &untouched);
  EXPECT_EQ(untouched, 5);
}

TEST(Reference, StopsSoonWhenCancelled) {
  const MatmulShape s{3000, 3000, 3000};  // seconds, each way
  const std::vector<float> a(9'000'000, 1.0F);
  std::vector<float> c(9'000'000);
  for (const bool exact : {false, true}) {
    std::atomic<bool> cancel{false};
    std::chrono::steady_clock::time_point pressed;
    std::jthread key([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      pressed = std::chrono::steady_clock::now();
      cancel = true;
    });
    const std::string text = testing::error_of(ErrorKind::wrong_result, [&] {
      if (exact) {
        exact_product(s, a.data(), a.data(), &cancel);
      } else {
        reference_matmul(s, a.data(), a.data(), c.data(), &cancel);
      }
    });
    EXPECT_EQ(text, "the product on the CPU was interrupted");
    EXPECT_LT(std::chrono::steady_clock::now() - pressed, std::chrono::milliseconds(300));
  }
}

class Blas : public ::testing::TestWithParam<std::tuple<DataType, Order, Order, Order>> {};

TEST_P(Blas, IsWithinTheBoundInEveryOrderAndLeavesGapsAlone) {
  const auto [type, a_order, b_order, c_order] = GetParam();
  const double u = type == DataType::float64 ? 0x1p-53 : 0x1p-24;
  for (const MatmulShape& s : reference_shapes) {
    TestMatrix a(type, s.m, s.k, a_order, 3), b(type, s.k, s.n, b_order, 1),
        c(type, s.m, s.n, c_order, 2);
    a.fill_random(3);
    b.fill_random(4);
    c.fill([](auto, auto) { return NAN; });
    blas_matmul(a.view(), b.view(), c.view());
    for (std::int64_t i = 0; i < s.m; ++i) {
      for (std::int64_t j = 0; j < s.n; ++j) {
        const auto exact = exact_element(a, b, i, j);
        const double bound = (static_cast<double>(s.k) + 2) * u * exact.magnitude;
        ASSERT_LE(std::abs(c.get(i, j) - exact.value), bound) << shape_text(s);
      }
    }
    EXPECT_TRUE(c.gaps_are_untouched());
  }
}

TEST_P(Blas, Accumulates) {
  const auto [type, a_order, b_order, c_order] = GetParam();
  TestMatrix a(type, 5, 6, a_order), b(type, 6, 7, b_order), c(type, 5, 7, c_order, 1);
  a.fill_integers(5);
  b.fill_integers(6);
  c.fill([](auto i, auto j) { return double(10 * i + j); });
  blas_matmul(a.view(), b.view(), c.view(), true);
  for (std::int64_t i = 0; i < 5; ++i) {
    for (std::int64_t j = 0; j < 7; ++j) {
      EXPECT_EQ(c.get(i, j), double(10 * i + j) + exact_element(a, b, i, j).value);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, Blas,
                         ::testing::Combine(::testing::Values(DataType::float32, DataType::float64),
                                            ::testing::ValuesIn(testing::both_orders),
                                            ::testing::ValuesIn(testing::both_orders),
                                            ::testing::ValuesIn(testing::both_orders)));

TEST(Blas32BitLimits, AreAnError) {
  const float x = 0;
  float y = 0;
  const std::int64_t large = std::int64_t{1} << 31;
  EXPECT_EQ(testing::error_of(ErrorKind::usage,
                              [&] {
                                blas_matmul(dense_view(&x, DataType::float32, large, 1),
                                            dense_view(&x, DataType::float32, 1, 1),
                                            dense_view(&y, DataType::float32, large, 1));
                              }),
            "m is 2147483648: BLAS takes at most 2147483647");
}

TEST(ExactProduct, ValuesAndMagnitudes) {
  const std::vector<float> a{1, -2, 3, 4}, b{-5, 6, 7, -8};
  const ExactProduct product = exact_product({2, 2, 2}, a.data(), b.data());
  EXPECT_THAT(product.values, ::testing::ElementsAre(-19, 22, 13, -14));
  EXPECT_THAT(product.magnitudes, ::testing::ElementsAre(19, 22, 43, 50));
}

}  // namespace
}  // namespace tilescope::operations
