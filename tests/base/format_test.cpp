#include "base/format.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace tilescope {
namespace {

TEST(Format, Counts) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(1048576), "1,048,576");
  EXPECT_EQ(format_count(-1234567), "-1,234,567");
  EXPECT_EQ(format_count(std::numeric_limits<std::uint64_t>::max()), "18,446,744,073,709,551,615");
  EXPECT_EQ(format_count(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Format, Fixed) {
  EXPECT_EQ(format_fixed(32500, 1), "32,500.0");
  EXPECT_EQ(format_fixed(999.96, 1), "1,000.0");
  EXPECT_EQ(format_fixed(0.125, 2), "0.12");  // a tie in binary too: to even
  EXPECT_EQ(format_fixed(-1234.5, 0), "-1,234");
  EXPECT_EQ(format_fixed(-0.001, 2), "0.00");
  EXPECT_EQ(format_fixed(std::numeric_limits<double>::quiet_NaN(), 2), "nan");
  EXPECT_EQ(format_fixed(-std::numeric_limits<double>::infinity(), 2), "-inf");
}

TEST(Format, Bytes) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.00 KiB");
  EXPECT_EQ(format_bytes(1536), "1.50 KiB");
  EXPECT_EQ(format_bytes(10234), "9.99 KiB");
  EXPECT_EQ(format_bytes(10235), "10.0 KiB");  // 9.9951
  EXPECT_EQ(format_bytes(102348), "99.9 KiB");
  EXPECT_EQ(format_bytes(102349), "100 KiB");  // 99.9502
  EXPECT_EQ(format_bytes(1023 * 1024), "1023 KiB");
  EXPECT_EQ(format_bytes(1024 * 1024 - 1), "1.00 MiB");
  EXPECT_EQ(format_bytes(std::uint64_t{4} << 30), "4.00 GiB");
  EXPECT_EQ(format_bytes(228 * 1024), "228 KiB");
  EXPECT_EQ(format_bytes(std::numeric_limits<std::uint64_t>::max()), "16.0 EiB");
}

TEST(Format, Durations) {
  EXPECT_EQ(format_duration(0), "0 s");
  EXPECT_EQ(format_duration(3.21e-3), "3.21 ms");
  EXPECT_EQ(format_duration(51e-6), "51.0 us");
  EXPECT_EQ(format_duration(0.9994), "999 ms");
  EXPECT_EQ(format_duration(0.9996), "1.00 s");
  EXPECT_EQ(format_duration(999.6e-6), "1.00 ms");
  EXPECT_EQ(format_duration(1e-9), "1.00 ns");
  EXPECT_EQ(format_duration(-0.25), "-250 ms");
  EXPECT_EQ(format_duration(59.94), "59.9 s");
  EXPECT_EQ(format_duration(59.96), "1 min 00 s");
  EXPECT_EQ(format_duration(125.4), "2 min 05 s");
  EXPECT_EQ(format_duration(3599.6), "1 h 00 min");
  EXPECT_EQ(format_duration(3 * 3600 + 7 * 60), "3 h 07 min");
  EXPECT_EQ(format_duration(std::numeric_limits<double>::quiet_NaN()), "nan s");
}

TEST(Format, Rates) {
  EXPECT_EQ(format_rate(51.0e12, "FLOP/s"), "51.0 TFLOP/s");
  EXPECT_EQ(format_rate(4.287e12, "B/s"), "4.29 TB/s");
  EXPECT_EQ(format_rate(999.4e9, "B/s"), "999 GB/s");
  EXPECT_EQ(format_rate(999.6e9, "B/s"), "1.00 TB/s");
  EXPECT_EQ(format_rate(1, "B/s"), "1.00 B/s");
  EXPECT_EQ(format_rate(0, "B/s"), "0 B/s");
  EXPECT_EQ(format_rate(std::numeric_limits<double>::infinity(), "B/s"), "inf B/s");
}

TEST(Format, ValuesBeyondThePrefixesStayReadable) {
  EXPECT_EQ(format_duration(5e-11), "5.00e-02 ns");
  EXPECT_EQ(format_rate(1e22, "B/s"), "1.00e+04 EB/s");
}

}  // namespace
}  // namespace tilescope
