// The element types of matrices, lists and files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tilescope {

/// The type of one element in memory, little-endian.
enum class DataType : std::uint8_t {
  float16,   ///< IEEE 754 binary16: 11 significant bits, largest value 65,504
  bfloat16,  ///< the upper half of a float32: 8 significant bits
  float32,
  float64,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  boolean,      ///< one byte, 0 or 1
  float8_e4m3,  ///< 4 significant bits, largest value 448, NaN, no infinity: PyTorch's
                ///< float8_e4m3fn
  float8_e5m2,  ///< 3 significant bits, largest value 57,344, NaN and infinity
};

/// Bytes of one element.
constexpr std::size_t size_of(DataType type) {
  switch (type) {
    case DataType::int8:
    case DataType::uint8:
    case DataType::boolean:
    case DataType::float8_e4m3:
    case DataType::float8_e5m2:
      return 1;
    case DataType::float16:
    case DataType::bfloat16:
    case DataType::int16:
    case DataType::uint16:
      return 2;
    case DataType::float32:
    case DataType::int32:
    case DataType::uint32:
      return 4;
    case DataType::float64:
    case DataType::int64:
    case DataType::uint64:
      return 8;
  }
  return 0;
}

/// Whether elements of `type` are floating-point numbers of 16 to 64 bits.
constexpr bool is_floating(DataType type) {
  return type <= DataType::float64;
}

/// Whether elements of `type` are floating-point numbers of 8 bits, which only matmul takes.
constexpr bool is_float8(DataType type) {
  return type == DataType::float8_e4m3 || type == DataType::float8_e5m2;
}

/// The name as NumPy writes it: "float32", "uint8"; "bool" for boolean. As PyTorch writes it:
/// "bfloat16", "float8_e4m3fn", "float8_e5m2".
std::string_view name_of(DataType type);

/// The type called `name`: a name of `name_of`, or a short one of kernel code ("f32", "bf16",
/// "i32", "u8", "e4m3"). Throws Error(usage), suggesting the nearest name, for any other text.
DataType parse_data_type(std::string_view name);

}  // namespace tilescope
