// The C++ type of each DataType.
#pragma once

#include <cstdint>
#include <tilescope/types.hpp>

#include "base/float8.hpp"
#include "base/half.hpp"

namespace tilescope {

/// Floating-point numbers of 16 and 8 bits and booleans, told apart by type.
struct Float16 {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};
struct Float8E4m3 {
  std::uint8_t bits;
};
struct Float8E5m2 {
  std::uint8_t bits;
};
struct Boolean {
  std::uint8_t value;
};

/// Calls `function` with a value of the C++ type for `type`.
template <typename Function>
auto with_type(DataType type, Function&& function) {
  switch (type) {
    case DataType::float16:
      return function(Float16{});
    case DataType::bfloat16:
      return function(BFloat16{});
    case DataType::float32:
      return function(float{});
    case DataType::float64:
      return function(double{});
    case DataType::int8:
      return function(std::int8_t{});
    case DataType::int16:
      return function(std::int16_t{});
    case DataType::int32:
      return function(std::int32_t{});
    case DataType::int64:
      return function(std::int64_t{});
    case DataType::uint8:
      return function(std::uint8_t{});
    case DataType::uint16:
      return function(std::uint16_t{});
    case DataType::uint32:
      return function(std::uint32_t{});
    case DataType::uint64:
      return function(std::uint64_t{});
    case DataType::float8_e4m3:
      return function(Float8E4m3{});
    case DataType::float8_e5m2:
      return function(Float8E5m2{});
    case DataType::boolean:
      break;
  }
  return function(Boolean{});
}

/// An element as a double.
template <typename T>
double number_of(T value) {
  return static_cast<double>(value);
}
inline double number_of(Float16 value) {
  return float16_to_float32(value.bits);
}
inline double number_of(BFloat16 value) {
  return bfloat16_to_float32(value.bits);
}
inline double number_of(Float8E4m3 value) {
  return e4m3_to_float32(value.bits);
}
inline double number_of(Float8E5m2 value) {
  return e5m2_to_float32(value.bits);
}
inline double number_of(Boolean value) {
  return value.value;
}

}  // namespace tilescope
