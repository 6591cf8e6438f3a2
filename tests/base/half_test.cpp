#include "base/half.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "support/temporary_folder.hpp"

namespace tilescope {
namespace {

// The value of float16 bits from the definition of the format, in float64 where it is exact.
double defined_value(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

// Nearest, ties to even, by search among all finite magnitudes: slow, and shares nothing with the
// code under test.
std::uint16_t nearest_by_search(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  int low = 0, high = 0x7c00;  // the infinity stands for 2^16 here
  const auto at = [](int bits) {
    return bits == 0x7c00 ? 65536.0 : defined_value(static_cast<std::uint16_t>(bits));
  };
  if (magnitude >= at(high)) return static_cast<std::uint16_t>(sign | high);
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (at(middle) <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - at(low), above = at(high) - magnitude;
  const int chosen = below < above || (below == above && low % 2 == 0) ? low : high;
  return static_cast<std::uint16_t>(sign | chosen);
}

std::uint32_t bits_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

TEST(Half, EveryFloat16WidensExactly) {
  for (int i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const double value = defined_value(bits);
    const float wide = float16_to_float32(bits);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(wide));
      ASSERT_EQ(std::signbit(wide), (bits & 0x8000) != 0);
      ASSERT_EQ(float32_to_float16(wide), bits | 0x200);  // payload kept, made quiet
    } else {
      ASSERT_EQ(static_cast<double>(wide), value);
      ASSERT_EQ(float32_to_float16(wide), bits);
      ASSERT_EQ(float64_to_float16(value), bits);
    }
  }
}

TEST(Half, NarrowingRoundsToNearestEven) {
  std::mt19937 random(1);
  std::vector<float> values = {
      0.0f,         65504.0f,        65519.996f,      65520.0f,   65536.0f, 1e30f,
      0x1p-24f,     0x1p-25f,        0x1.000002p-25f, 0x1.8p-24f, 0x1p-14f, 0x1.ffcp-15f,
      0x1.ffep-15f, 1.0f + 0x1p-11f, 1.0f + 0x3p-11f, 1e-40f};
  for (int i = 0; i < 200000; ++i) {  // exponents around the range of float16, and near ties
    const auto exponent = static_cast<std::uint32_t>(98 + random() % 48);
    auto mantissa = static_cast<std::uint32_t>(random() & 0x7fffff);
    if (i % 3 == 0)
      mantissa = (mantissa & 0x7fe000) | (0xfff + static_cast<std::uint32_t>(random() % 3));
    values.push_back(std::bit_cast<float>(exponent << 23 | mantissa));
  }
  for (const float value : values) {
    ASSERT_EQ(float32_to_float16(value), nearest_by_search(value)) << value;
    ASSERT_EQ(float32_to_float16(-value), nearest_by_search(-value)) << -value;
    const double nudged = value * (1.0 + 0x1p-40);
    ASSERT_EQ(float64_to_float16(nudged), nearest_by_search(nudged)) << value;
  }
}

TEST(Half, Float64RoundsOnce) {
  // Just above the tie between 1 and 1 + 2^-10. Through float32 it would become the tie, then 1.
  EXPECT_EQ(float64_to_float16(1.0 + 0x1p-11 + 0x1p-40), 0x3c01);
  EXPECT_EQ(float64_to_float16(1.0 + 0x1p-11 - 0x1p-40), 0x3c00);
  EXPECT_EQ(float64_to_bfloat16(1.0 + 0x1p-8 + 0x1p-40), 0x3f81);
  EXPECT_EQ(float64_to_bfloat16(-1.0 - 0x1p-8 - 0x1p-40), 0xbf81);
  EXPECT_EQ(float64_to_float16(1e300), 0x7c00);
  EXPECT_EQ(float64_to_float16(-1e300), 0xfc00);
  EXPECT_EQ(float64_to_float16(-1e-300), 0x8000);
  EXPECT_TRUE(std::isnan(float16_to_float32(float64_to_float16(std::nan("")))));
}

TEST(Half, BFloat16) {
  EXPECT_EQ(float32_to_bfloat16(1.0f), 0x3f80);
  EXPECT_EQ(float32_to_bfloat16(1.0f + 0x1p-8f), 0x3f80);  // tie: to even
  EXPECT_EQ(float32_to_bfloat16(1.0f + 0x3p-8f), 0x3f82);  // tie: to even
  EXPECT_EQ(float32_to_bfloat16(1.0f + 0x1.0002p-8f), 0x3f81);
  EXPECT_EQ(float32_to_bfloat16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(float32_to_bfloat16(-0.0f), 0x8000);
  EXPECT_EQ(float32_to_bfloat16(std::bit_cast<float>(0x7f800001u)), 0x7fc0);
  EXPECT_EQ(float32_to_bfloat16(std::bit_cast<float>(0xffffffffu)), 0xffff);
  for (int i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const bool nan = (bits & 0x7fff) > 0x7f80;
    ASSERT_EQ(float32_to_bfloat16(bfloat16_to_float32(bits)), nan ? bits | 0x40 : bits);
  }
}

TEST(Half, ArraysEqualElements) {
  std::vector<std::uint16_t> halves(65536 + 5);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  std::vector<float> wide(halves.size());
  float16_to_float32(halves, wide);
  for (std::size_t i = 0; i < halves.size(); ++i) {
    ASSERT_EQ(bits_of(wide[i]), bits_of(float16_to_float32(halves[i]))) << i;
  }
  bfloat16_to_float32(halves, wide);
  for (std::size_t i = 0; i < halves.size(); ++i) {
    ASSERT_EQ(bits_of(wide[i]), bits_of(bfloat16_to_float32(halves[i]))) << i;
  }
  // All signs, exponents and upper mantissa bits, with random lower ones.
  std::mt19937 random(2);
  std::vector<float> values((1u << 20) + 3);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::bit_cast<float>(static_cast<std::uint32_t>(i << 12 | (random() & 0xfff)));
  }
  std::vector<std::uint16_t> narrow(values.size());
  float32_to_float16(values, narrow);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(narrow[i], float32_to_float16(values[i])) << bits_of(values[i]);
  }
  float32_to_bfloat16(values, narrow);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(narrow[i], float32_to_bfloat16(values[i])) << bits_of(values[i]);
  }
}

TEST(Half, ArraysMustHaveOneSize) {
  const std::vector<float> from(3);
  std::vector<std::uint16_t> to(2);
  EXPECT_THAT(testing::error_of(ErrorKind::usage, [&] { float32_to_float16(from, to); }),
              ::testing::HasSubstr("3 elements into 2"));
}

}  // namespace
}  // namespace tilescope
