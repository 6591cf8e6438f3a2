#include "inspect/scalar_value.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

#include "base/element_types.hpp"
#include "base/errors.hpp"
#include "base/text.hpp"

namespace tilescope::inspect {
namespace {

[[noreturn]] void refuse(std::string_view text, DataType type, std::string_view why) {
  throw usage_error("\"{}\" is no value of {}: {}", printable(text, 60), short_name_of(type), why);
}

template <typename T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

/// Strips "+", "-" and "0x".
struct Number {
  explicit Number(std::string_view text) : digits(text) {
    if (digits.starts_with('-') || digits.starts_with('+')) {
      negative = digits.front() == '-';
      digits.remove_prefix(1);
    }
    if (digits.starts_with("0x") || digits.starts_with("0X")) {
      hexadecimal = true;
      digits.remove_prefix(2);
    }
  }
  std::string_view digits;
  bool negative = false, hexadecimal = false;
};

template <typename T>
std::vector<std::byte> parse_integer(std::string_view text, DataType type) {
  const Number number(text);
  std::uint64_t magnitude = 0;
  const char* const end = number.digits.data() + number.digits.size();
  const auto [stop, error] =
      std::from_chars(number.digits.data(), end, magnitude, number.hexadecimal ? 16 : 10);
  if (error == std::errc::invalid_argument || stop != end) {
    refuse(text, type, "expected an integer such as 256, -1 or 0xff");
  }
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
  constexpr std::uint64_t least = std::is_signed_v<T> ? most + 1 : 0;
  if (error != std::errc{} || magnitude > (number.negative ? least : most)) {
    refuse(text, type,
           fmt::format("it holds {} to {}", std::numeric_limits<T>::min(),
                       std::numeric_limits<T>::max()));
  }
  return bytes_of(static_cast<T>(number.negative ? 0 - magnitude : magnitude));
}

template <typename T>
T parse_real(std::string_view text, DataType type) {
  const Number number(text);
  T value{};
  const char* const end = number.digits.data() + number.digits.size();
  // A second sign would be taken by from_chars.
  const bool signed_twice = number.digits.starts_with('-');
  const auto [stop, error] =
      std::from_chars(number.digits.data(), end, value,
                      number.hexadecimal ? std::chars_format::hex : std::chars_format::general);
  if (error == std::errc::invalid_argument || stop != end || signed_twice) {
    refuse(text, type, "expected a number such as 2.5, 1e-3, inf or nan");
  }
  if (error == std::errc::result_out_of_range) {
    // Too small or too large: from_chars does not say which, but the exponent's sign does.
    const std::size_t exponent = number.digits.find_first_of(number.hexadecimal ? "pP" : "eE");
    const bool small = (exponent != std::string_view::npos && exponent + 1 < number.digits.size() &&
                        number.digits[exponent + 1] == '-') ||
                       number.digits.starts_with("0.") || number.digits.starts_with(".");
    if (!small) refuse(text, type, "it exceeds the largest finite value");
    value = T{0};
  }
  return number.negative ? -value : value;
}

// A floating-point type that the language does not have.
template <typename T>
std::vector<std::byte> parse_narrow(std::string_view text, DataType type, T (*narrow)(double),
                                    double largest) {
  const double value = parse_real<double>(text, type);
  const T rounded = narrow(value);
  if (!std::isfinite(number_of(rounded)) && std::isfinite(value)) {
    refuse(text, type, fmt::format("its largest finite value is {}", largest));
  }
  return bytes_of(rounded);
}

std::vector<std::byte> parse_narrow(std::string_view text, DataType type) {
  switch (type) {
    case DataType::float16:
      return parse_narrow<Float16>(
          text, type, [](double x) { return Float16{float64_to_float16(x)}; }, 65504.0);
    case DataType::float8_e4m3:
      return parse_narrow<Float8E4m3>(
          text, type, [](double x) { return Float8E4m3{float64_to_e4m3(x)}; }, 448.0);
    case DataType::float8_e5m2:
      return parse_narrow<Float8E5m2>(
          text, type, [](double x) { return Float8E5m2{float64_to_e5m2(x)}; }, 57344.0);
    default:
      return parse_narrow<BFloat16>(
          text, type, [](double x) { return BFloat16{float64_to_bfloat16(x)}; }, 3.3895e38);
  }
}

std::vector<std::byte> parse_boolean(std::string_view text, DataType type) {
  if (text == "1" || text == "true") return bytes_of(std::uint8_t{1});
  if (text == "0" || text == "false") return bytes_of(std::uint8_t{0});
  refuse(text, type, "it holds 0 (false) and 1 (true)");
}

}  // namespace

std::string_view short_name_of(DataType type) {
  constexpr std::string_view names[] = {"f16", "bf16", "f32", "f64", "i8",   "i16",  "i32", "i64",
                                        "u8",  "u16",  "u32", "u64", "bool", "e4m3", "e5m2"};
  return names[static_cast<std::size_t>(type)];
}

std::vector<std::byte> parse_scalar(std::string_view text, DataType type) {
  return with_type(type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      return parse_integer<T>(text, type);
    } else if constexpr (std::is_floating_point_v<T>) {
      return bytes_of(parse_real<T>(text, type));
    } else if constexpr (std::is_same_v<T, Boolean>) {
      return parse_boolean(text, type);
    } else {
      return parse_narrow(text, type);
    }
  });
}

}  // namespace tilescope::inspect
