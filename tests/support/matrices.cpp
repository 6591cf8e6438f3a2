#include "support/matrices.hpp"

#include <cmath>
#include <cstring>
#include <random>

#include "base/half.hpp"

namespace tilescope::testing {

void TestMatrix::set(std::int64_t row, std::int64_t column, double value) {
  std::byte* at = address(row, column);
  if (view_.type == DataType::float16) {
    const std::uint16_t bits = float64_to_float16(value);
    std::memcpy(at, &bits, sizeof bits);
  } else if (view_.type == DataType::bfloat16) {
    const std::uint16_t bits = float64_to_bfloat16(value);
    std::memcpy(at, &bits, sizeof bits);
  } else if (view_.type == DataType::float32) {
    const auto single = static_cast<float>(value);
    std::memcpy(at, &single, sizeof single);
  } else {
    std::memcpy(at, &value, sizeof value);
  }
}

double TestMatrix::get(std::int64_t row, std::int64_t column) const {
  const std::byte* at = const_cast<TestMatrix*>(this)->address(row, column);
  if (size_of(view_.type) == sizeof(std::uint16_t)) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, at, sizeof bits);
    return view_.type == DataType::float16 ? float16_to_float32(bits) : bfloat16_to_float32(bits);
  }
  if (view_.type == DataType::float32) {
    float single = 0;
    std::memcpy(&single, at, sizeof single);
    return single;
  }
  double value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

TestMatrix& TestMatrix::fill_random(unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  return fill([&](auto, auto) { return uniform(generator); });
}

TestMatrix& TestMatrix::fill_integers(unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> uniform(-3, 3);
  return fill([&](auto, auto) { return uniform(generator); });
}

std::byte* TestMatrix::address(std::int64_t row, std::int64_t column) {
  const std::int64_t offset =
      view_.order == Order::row_major ? row * view_.leading + column : column * view_.leading + row;
  return storage_.data() + static_cast<std::size_t>(offset) * size_of(view_.type);
}

ExactElement exact_element(const TestMatrix& a, const TestMatrix& b, std::int64_t i,
                           std::int64_t j) {
  long double value = 0, magnitude = 0;
  for (std::int64_t p = 0; p < a.view().columns; ++p) {
    const auto product = static_cast<long double>(a.get(i, p)) * b.get(p, j);
    value += product;
    magnitude += std::abs(product);
  }
  return {static_cast<double>(value), static_cast<double>(magnitude)};
}

}  // namespace tilescope::testing
