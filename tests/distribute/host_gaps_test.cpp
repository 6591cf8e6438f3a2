// Products of host matrices with gaps between their rows: a device's memory has others, and kernels
// and plans follow from these.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <tilescope/sharded.hpp>
#include <utility>
#include <vector>

namespace tilescope {
namespace {

constexpr std::int64_t row_gap = 2;

std::vector<double> random_matrix(std::int64_t vectors, std::int64_t length, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  std::vector<double> values(static_cast<std::size_t>(vectors * (length + row_gap)));
  std::generate(values.begin(), values.end(), [&] { return uniform(generator); });
  return values;
}

std::vector<double> product_on(const std::vector<std::shared_ptr<Device>>& devices,
                               const MatmulShape& s, Order a_order, Order b_order) {
  const auto lengths = [](std::int64_t rows, std::int64_t columns, Order order) {
    return order == Order::row_major ? std::pair{rows, columns} : std::pair{columns, rows};
  };
  const auto [a_vectors, a_length] = lengths(s.m, s.k, a_order);
  const auto [b_vectors, b_length] = lengths(s.k, s.n, b_order);
  const std::vector<double> a = random_matrix(a_vectors, a_length, 1),
                            b = random_matrix(b_vectors, b_length, 2);
  std::vector<double> c = random_matrix(s.m, s.n, 3);
  const auto type = DataType::float64;
  const ConstMatrixView a_view{.data = a.data(),
                               .type = type,
                               .rows = s.m,
                               .columns = s.k,
                               .order = a_order,
                               .leading = a_length + row_gap},
      b_view{.data = b.data(),
             .type = type,
             .rows = s.k,
             .columns = s.n,
             .order = b_order,
             .leading = b_length + row_gap};
  const MatrixView c_view{
      {.data = c.data(), .type = type, .rows = s.m, .columns = s.n, .leading = s.n + row_gap}};
  if (devices.size() == 1) {
    matmul(*devices.front(), a_view, b_view, c_view);
  } else {
    matmul_sharded(devices, a_view, b_view, c_view);
  }
  return c;
}

TEST(HostGaps, LeaveTheBitsOfOneDevice) {
  const auto one = open_devices("emulated:h200"),
             three = open_devices("emulated:h200,emulated:h200,emulated:h200");
  for (const Order a_order : {Order::row_major, Order::column_major}) {
    for (const Order b_order : {Order::row_major, Order::column_major}) {
      const MatmulShape shape{128, 130, 255};
      EXPECT_EQ(product_on(one, shape, a_order, b_order),
                product_on(three, shape, a_order, b_order));
    }
  }
}

}  // namespace
}  // namespace tilescope
