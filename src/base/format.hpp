// Numbers for people. Every function rounds its argument once, to nearest, and carries over to the
// next unit: 999.6 us is "1.00 ms", never "1000 us".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilescope {

/// "1,048,576".
std::string format_count(std::uint64_t value);
std::string format_count(std::int64_t value);
inline std::string format_count(int value) {
  return format_count(std::int64_t{value});
}
inline std::string format_count(unsigned value) {
  return format_count(std::uint64_t{value});
}

/// A number with thousands separators and exactly `decimals` digits after the point: "32,500.0".
/// Not finite: "nan", "inf", "-inf".
std::string format_fixed(double value, int decimals);

/// Bytes in binary units, three digits or, between 1,000 and 1,023, four: "512 B", "1.50 KiB",
/// "1023 MiB", "4.00 GiB". Exact up to 2^64 - 1.
std::string format_bytes(std::uint64_t bytes);

/// Seconds, three digits: "3.21 ms", "51.0 us"; one minute or more as "2 min 05 s", "3 h 07 min".
std::string format_duration(double seconds);

/// `per_second` with a decimal prefix, three digits: (5.1e13, "FLOP/s") is "51.0 TFLOP/s",
/// (4.287e12, "B/s") is "4.29 TB/s".
std::string format_rate(double per_second, std::string_view unit);

}  // namespace tilescope
