#include "inspect/array_values.hpp"

#include <fmt/format.h>

#include <cstring>
#include <random>
#include <type_traits>

#include "base/element_types.hpp"

namespace tilescope::inspect {
namespace {

/// The value as a T, which is none of the language's types, rounded to nearest.
template <typename T>
T rounded_to(double value) {
  if constexpr (std::is_same_v<T, Float16>) return {float64_to_float16(value)};
  if constexpr (std::is_same_v<T, BFloat16>) return {float64_to_bfloat16(value)};
  if constexpr (std::is_same_v<T, Float8E4m3>) return {float64_to_e4m3(value)};
  if constexpr (std::is_same_v<T, Float8E5m2>) return {float64_to_e5m2(value)};
}

template <typename T>
T from_index(std::uint64_t index) {
  if constexpr (std::is_same_v<T, Boolean>) {
    return {static_cast<std::uint8_t>(index & 1U)};
  } else if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(index);
  } else {
    return rounded_to<T>(static_cast<double>(index));
  }
}

template <typename T>
T random_element(std::mt19937_64& generator) {
  const std::uint64_t bits = generator();
  if constexpr (std::is_same_v<T, Boolean>) {
    return {static_cast<std::uint8_t>(bits >> 63U)};
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(bits >> (std::is_same_v<T, std::int8_t> ? 57U : 56U));
  } else {
    // 24 random bits: every float in [-1, 1) with this spacing is equally likely.
    const float value = static_cast<float>(bits >> 40U) * 0x1p-23F - 1.0F;
    if constexpr (std::is_floating_point_v<T>) {
      return value;
    } else {
      return rounded_to<T>(static_cast<double>(value));
    }
  }
}

template <typename T, typename Make>
void fill(std::span<std::byte> elements, Make&& make) {
  for (std::size_t offset = 0; offset + sizeof(T) <= elements.size(); offset += sizeof(T)) {
    const T value = make(offset / sizeof(T));
    std::memcpy(elements.data() + offset, &value, sizeof(T));
  }
}

}  // namespace

void fill_elements(const LaunchArgument& argument, std::uint64_t first,
                   std::span<std::byte> elements) {
  with_type(argument.type, [&](auto sample) {
    using T = decltype(sample);
    if (argument.initial == Initial::value) {
      std::memcpy(&sample, argument.value.data(), sizeof(T));
      fill<T>(elements, [&](std::size_t) { return sample; });
    } else if (argument.initial == Initial::random) {
      std::mt19937_64 generator;
      fill<T>(elements, [&](std::size_t i) {
        if (i % values_per_piece == 0) {
          generator.seed(argument.seed * 0x9E3779B97F4A7C15U + (first + i) / values_per_piece);
        }
        return random_element<T>(generator);
      });
    } else if (argument.initial == Initial::iota) {
      fill<T>(elements, [&](std::size_t i) { return from_index<T>(first + i); });
    } else {
      const T value = from_index<T>(argument.initial == Initial::ones ? 1 : 0);
      fill<T>(elements, [&](std::size_t) { return value; });
    }
  });
}

std::string element_text(DataType type, const std::byte* element) {
  return with_type(type, [&](auto value) {
    using T = decltype(value);
    std::memcpy(&value, element, sizeof(T));
    if constexpr (std::is_integral_v<T>) {
      return fmt::format("{}", +value);  // + so that 8 bits do not print as a character
    } else {
      return fmt::format("{:.6g}", number_of(value));
    }
  });
}

double element_value(DataType type, const std::byte* element) {
  return with_type(type, [&](auto value) {
    std::memcpy(&value, element, sizeof value);
    return number_of(value);
  });
}

}  // namespace tilescope::inspect
