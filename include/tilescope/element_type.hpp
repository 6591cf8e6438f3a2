// The DataType of C++ types, so that calls take it from a std::vector<float> or std::span<double>.
#pragma once

#include <limits>
#include <ranges>
#include <type_traits>

#include "tilescope/types.hpp"

namespace tilescope {

/// The DataType of a C++ type: `value` for integers, floating-point numbers of 16 to 64 bits and
/// bool. Specialise it for a type of another library:
///
///     template <>
///     struct tilescope::ElementType<__half> {
///       static constexpr DataType value = DataType::float16;
///     };
template <typename T>
struct ElementType {};

/// A type that ElementType knows.
template <typename T>
concept Element = requires {
  ElementType<std::remove_cv_t<T>>::value;
};

/// The DataType of a C++ type.
template <typename T>
constexpr DataType data_type_of() {
  static_assert(Element<T>, "give a DataType and bytes, or specialise ElementType");
  return ElementType<std::remove_cv_t<T>>::value;
}

/// Elements in one piece: a std::vector, std::array or std::span.
template <typename T>
concept ElementRange = std::ranges::contiguous_range<T> && std::ranges::sized_range<T> &&
    Element<std::ranges::range_value_t<T>>;

/// Elements that can be written, and outlive the call.
template <typename T>
concept MutableElementRange = ElementRange<T> && std::ranges::borrowed_range<T> &&
    !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<T>>>;

// --- the types of the language

template <>
struct ElementType<bool> {
  static constexpr DataType value = DataType::boolean;
};

template <typename T>
requires(std::is_integral_v<T> && sizeof(T) <= 8) struct ElementType<T> {
  static constexpr int width = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
  static constexpr DataType value = static_cast<DataType>(
      static_cast<int>(std::is_signed_v<T> ? DataType::int8 : DataType::uint8) + width);
};

template <typename T>
requires(std::is_floating_point_v<T> && sizeof(T) <= 8) struct ElementType<T> {
  static constexpr int digits = std::numeric_limits<T>::digits;
  static constexpr DataType value = digits == 53   ? DataType::float64
                                    : digits == 24 ? DataType::float32
                                    : digits == 11 ? DataType::float16
                                                   : DataType::bfloat16;
};

}  // namespace tilescope
