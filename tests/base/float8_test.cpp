#include "base/float8.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace tilescope {
namespace {

struct Format {
  const char* name;
  float (*widen)(std::uint8_t);
  std::uint8_t (*narrow)(double);
  double largest, least;
};
constexpr Format formats[] = {
    {"e4m3", e4m3_to_float32, float64_to_e4m3, 448.0, 0x1p-9},
    {"e5m2", e5m2_to_float32, float64_to_e5m2, 57344.0, 0x1p-16},
};

TEST(Float8, EveryNumberComesBack) {
  for (const Format& format : formats) {
    for (int bits = 0; bits < 256; ++bits) {
      const float value = format.widen(static_cast<std::uint8_t>(bits));
      if (std::isnan(value)) continue;
      EXPECT_EQ(format.narrow(value), bits) << format.name << ' ' << value;
    }
  }
}

TEST(Float8, KnownNumbers) {
  EXPECT_EQ(e4m3_to_float32(0x7E), 448.0F);
  EXPECT_EQ(e4m3_to_float32(0x38), 1.0F);
  EXPECT_EQ(e4m3_to_float32(0x01), 0x1p-9F);
  EXPECT_EQ(e4m3_to_float32(0x88), -0x1p-6F);
  EXPECT_TRUE(std::isnan(e4m3_to_float32(0x7F)));
  EXPECT_TRUE(std::isnan(e4m3_to_float32(0xFF)));
  EXPECT_EQ(e5m2_to_float32(0x7B), 57344.0F);
  EXPECT_EQ(e5m2_to_float32(0x3C), 1.0F);
  EXPECT_EQ(e5m2_to_float32(0x01), 0x1p-16F);
  EXPECT_TRUE(std::isinf(e5m2_to_float32(0xFC)));
  EXPECT_TRUE(std::isnan(e5m2_to_float32(0x7D)));
}

// Between two neighbours the nearer one, and in the middle the one whose last bit is 0.
TEST(Float8, RoundsToNearestEven) {
  for (const Format& format : formats) {
    for (int bits = 0; bits < 0x7E; ++bits) {
      const double low = format.widen(static_cast<std::uint8_t>(bits));
      const double high = format.widen(static_cast<std::uint8_t>(bits + 1));
      if (!std::isfinite(low) || !std::isfinite(high)) continue;
      const double middle = (low + high) / 2.0, nudge = (high - low) * 0x1p-30;
      const int even = bits % 2 == 0 ? bits : bits + 1;
      EXPECT_EQ(format.narrow(middle), even) << format.name << ' ' << middle;
      EXPECT_EQ(format.narrow(middle - nudge), bits) << format.name << ' ' << middle;
      EXPECT_EQ(format.narrow(middle + nudge), bits + 1) << format.name << ' ' << middle;
      EXPECT_EQ(format.narrow(-middle), even | 0x80) << format.name << ' ' << middle;
    }
  }
}

TEST(Float8, BeyondTheLargestIsNaNOrInfinity) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(float64_to_e4m3(464.0), 0x7E) << "a tie";
  for (const double value : {464.001, 500.0, 1e300, infinity}) {
    EXPECT_EQ(float64_to_e4m3(value), 0x7F) << value;
    EXPECT_EQ(float64_to_e4m3(-value), 0xFF) << value;
  }
  EXPECT_EQ(float64_to_e5m2(61439.9), 0x7B);
  for (const double value : {61440.0, 1e6, infinity}) {
    EXPECT_EQ(float64_to_e5m2(value), 0x7C) << value;
    EXPECT_EQ(float64_to_e5m2(-value), 0xFC) << value;
  }
}

TEST(Float8, SmallNumbersAndNaN) {
  for (const Format& format : formats) {
    EXPECT_EQ(format.narrow(0.0), 0);
    EXPECT_EQ(format.narrow(-0.0), 0x80);
    EXPECT_EQ(format.narrow(format.least / 2.0), 0) << "a tie";
    EXPECT_EQ(format.narrow(format.least * 0.51), 1);
    EXPECT_EQ(format.narrow(1e-320), 0);
    EXPECT_TRUE(std::isnan(format.widen(format.narrow(std::nan("")))));
  }
}

}  // namespace
}  // namespace tilescope
