#include "operations/numerics/random.hpp"

#include <fmt/format.h>

#include <tilescope/error.hpp>

namespace tilescope::operations {
namespace {

// 24 random bits make every float in [-1, 1) with this spacing equally likely.
float uniform(std::mt19937_64& generator) {
  return static_cast<float>(generator() >> 40U) * 0x1p-23F - 1.0F;
}

template <typename T, typename Draw>
void fill(HostArray& array, std::uint64_t seed, const Draw& draw) {
  const std::span<T> elements = array.as<T>();
  generate(elements.size(), seed, [&](std::mt19937_64& generator, std::size_t i) {
    elements[i] = static_cast<T>(draw(generator));
  });
}

}  // namespace

std::vector<float> random_values(std::int64_t count, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  generate(values.size(), seed,
           [&](std::mt19937_64& generator, std::size_t i) { values[i] = uniform(generator); });
  return values;
}

HostArray random_array(DataType type, std::size_t count, std::uint64_t seed) {
  HostArray array(type, count);
  constexpr unsigned high_bits = 32;  // the generator's better half
  const auto bits = [](std::mt19937_64& generator) { return generator() >> high_bits; };
  switch (type) {
    case DataType::float32:
      fill<float>(array, seed, uniform);
      break;
    case DataType::float64:
      fill<double>(array, seed, uniform);
      break;
    case DataType::int8:
    case DataType::uint8:
      fill<std::uint8_t>(array, seed, bits);
      break;
    case DataType::int16:
    case DataType::uint16:
      fill<std::uint16_t>(array, seed, bits);
      break;
    case DataType::int32:
    case DataType::uint32:
      fill<std::uint32_t>(array, seed, bits);
      break;
    case DataType::int64:
    case DataType::uint64:
      fill<std::uint64_t>(array, seed, [](std::mt19937_64& generator) { return generator(); });
      break;
    default:
      throw Error(ErrorKind::usage, fmt::format("no random data of type {}", name_of(type)));
  }
  return array;
}

}  // namespace tilescope::operations
