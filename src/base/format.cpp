#include "base/format.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>

namespace tilescope {
namespace {

std::string grouped(std::string_view digits) {
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string with_sign(bool negative, const std::string& text) {
  return fmt::format("{}{}", negative ? "-" : "", text);
}

std::string not_finite(double value) {
  if (std::isnan(value)) return "nan";
  return value < 0 ? "-inf" : "inf";
}

// Three significant digits and the exponent of the prefix, a multiple of 3. The digits come from
// one correctly rounded conversion; moving the point afterwards loses nothing.
struct Scaled {
  std::string digits;
  int exponent;
};

Scaled scale(double magnitude, int lowest, int highest) {
  const std::string text = fmt::format("{:.2e}", magnitude);  // "d.dde+NN"
  const int exponent = std::atoi(text.c_str() + text.find('e') + 1);
  std::string digits = {text[0], text[2], text[3]};
  int prefix = static_cast<int>(std::floor(exponent / 3.0)) * 3;
  prefix = prefix < lowest ? lowest : prefix > highest ? highest : prefix;
  const int before_point = exponent - prefix + 1;
  if (magnitude == 0) return {"0", 0};
  if (before_point > 3 || before_point < 1) {
    // Beyond the prefixes: scientific notation in the unit of the last prefix.
    return {.digits = fmt::format("{:.2e}", magnitude / std::pow(10.0, prefix)),
            .exponent = prefix};
  }
  if (before_point < 3) digits.insert(static_cast<std::size_t>(before_point), ".");
  return {digits, prefix};
}

}  // namespace

std::string format_count(std::uint64_t value) {
  return grouped(fmt::format("{}", value));
}

std::string format_count(std::int64_t value) {
  const std::string text = fmt::format("{}", value);
  return with_sign(value < 0, grouped(std::string_view(text).substr(value < 0 ? 1 : 0)));
}

std::string format_fixed(double value, int decimals) {
  if (!std::isfinite(value)) return not_finite(value);
  const std::string text = fmt::format("{:.{}f}", std::fabs(value), decimals);
  const std::size_t point = std::min(text.find('.'), text.size());
  const bool zero = text.find_first_not_of("0.") == std::string::npos;
  return with_sign(value < 0 && !zero,
                   grouped(std::string_view(text).substr(0, point)) + text.substr(point));
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 7> units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  for (std::size_t unit = 1; unit < units.size(); ++unit) {
    // In hundredths, tenths or wholes of the unit, in integers: rounded half up, without loss.
    for (const unsigned parts : {100u, 10u, 1u}) {
      __extension__ using Wide = unsigned __int128;
      const unsigned shift = 10 * static_cast<unsigned>(unit);
      const Wide scaled = (Wide{bytes} * parts + (Wide{1} << (shift - 1))) >> shift;
      const auto value = static_cast<std::uint64_t>(scaled);
      const std::uint64_t limit = parts == 1 ? 1024 : 1000;
      if (value >= limit) continue;
      if (parts == 1) return fmt::format("{} {}", value, units[unit]);
      return fmt::format("{}.{:0{}} {}", value / parts, value % parts, parts == 100 ? 2 : 1,
                         units[unit]);
    }
  }
  return fmt::format("{} B", bytes);  // not reached: 2^64 - 1 bytes are 16.0 EiB
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds)) return fmt::format("{} s", not_finite(seconds));
  const std::string sign = seconds < 0 ? "-" : "";
  const double magnitude = std::fabs(seconds);
  const auto whole = static_cast<std::uint64_t>(std::llround(std::min(magnitude, 1e15)));
  if (magnitude < 59.95) {
    const Scaled scaled = scale(magnitude, -9, 0);
    constexpr std::array<std::string_view, 4> units = {"s", "ms", "us", "ns"};
    return fmt::format("{}{} {}", sign, scaled.digits,
                       units[static_cast<std::size_t>(-scaled.exponent / 3)]);
  }
  if (whole < 3600) return fmt::format("{}{} min {:02} s", sign, whole / 60, whole % 60);
  const std::uint64_t minutes = (whole + 30) / 60;
  return fmt::format("{}{} h {:02} min", sign, format_count(minutes / 60), minutes % 60);
}

std::string format_rate(double per_second, std::string_view unit) {
  if (!std::isfinite(per_second)) return fmt::format("{} {}", not_finite(per_second), unit);
  constexpr std::array<std::string_view, 7> prefixes = {"", "k", "M", "G", "T", "P", "E"};
  const Scaled scaled = scale(std::fabs(per_second), 0, 18);
  return fmt::format("{}{} {}{}", per_second < 0 ? "-" : "", scaled.digits,
                     prefixes[static_cast<std::size_t>(scaled.exponent / 3)], unit);
}

}  // namespace tilescope
