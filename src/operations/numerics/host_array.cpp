#include "operations/numerics/host_array.hpp"

#include <algorithm>
#include <cstdint>

#include "base/element_types.hpp"
#include "base/host_pages.hpp"

namespace tilescope::operations {

HostArray::HostArray(DataType type, std::size_t count)
    : type_(type),
      count_(count),
      data_(std::make_unique_for_overwrite<std::byte[]>(count * size_of(type))) {
  ask_for_large_pages(data_.get(), bytes());
}

void HostArray::set(std::size_t i, double value) {
  switch (type_) {
    case DataType::float16:
      as<std::uint16_t>()[i] = float32_to_float16(static_cast<float>(value));
      return;
    case DataType::bfloat16:
      as<std::uint16_t>()[i] = float32_to_bfloat16(static_cast<float>(value));
      return;
    case DataType::float8_e4m3:
      as<std::uint8_t>()[i] = float64_to_e4m3(value);
      return;
    case DataType::float8_e5m2:
      as<std::uint8_t>()[i] = float64_to_e5m2(value);
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
  with_type(array.type, [&](auto zero) {
    const auto* from = static_cast<const decltype(zero)*>(array.data) + first;
    std::transform(from, from + values.size(), values.begin(),
                   [](auto value) { return number_of(value); });
  });
}

}  // namespace tilescope::operations
