#include "operations/numerics/host_array.hpp"

#include <algorithm>
#include <cstdint>

#include "base/half.hpp"

namespace tilescope::operations {
namespace {

template <typename T>
void widen_as(const ConstArrayView& array, std::size_t first, std::span<double> values) {
  const T* from = static_cast<const T*>(array.data) + first;
  std::transform(from, from + values.size(), values.begin(),
                 [](T value) { return static_cast<double>(value); });
}

}  // namespace

HostArray::HostArray(DataType type, std::size_t count)
    : type_(type),
      count_(count),
      data_(std::make_unique_for_overwrite<std::byte[]>(count * size_of(type))) {}

void HostArray::set(std::size_t i, double value) {
  switch (type_) {
    case DataType::float16:
      as<std::uint16_t>()[i] = float32_to_float16(static_cast<float>(value));
      return;
    case DataType::bfloat16:
      as<std::uint16_t>()[i] = float32_to_bfloat16(static_cast<float>(value));
      return;
    case DataType::float64:
      as<double>()[i] = value;
      return;
    default:
      as<float>()[i] = static_cast<float>(value);
      return;
  }
}

void widen(const ConstArrayView& array, std::size_t first, std::span<double> values) {
  const auto* bits = static_cast<const std::uint16_t*>(array.data);
  switch (array.type) {
    case DataType::float16:
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<double>(float16_to_float32(bits[first + i]));
      }
      return;
    case DataType::bfloat16:
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<double>(bfloat16_to_float32(bits[first + i]));
      }
      return;
    case DataType::float32:
      return widen_as<float>(array, first, values);
    case DataType::float64:
      return widen_as<double>(array, first, values);
    case DataType::int8:
      return widen_as<std::int8_t>(array, first, values);
    case DataType::int16:
      return widen_as<std::int16_t>(array, first, values);
    case DataType::int32:
      return widen_as<std::int32_t>(array, first, values);
    case DataType::int64:
      return widen_as<std::int64_t>(array, first, values);
    case DataType::uint8:
    case DataType::boolean:
      return widen_as<std::uint8_t>(array, first, values);
    case DataType::uint16:
      return widen_as<std::uint16_t>(array, first, values);
    case DataType::uint32:
      return widen_as<std::uint32_t>(array, first, values);
    case DataType::uint64:
      return widen_as<std::uint64_t>(array, first, values);
  }
}

}  // namespace tilescope::operations
