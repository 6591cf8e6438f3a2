#include "operations/numerics/random.hpp"

#include <cmath>
#include <type_traits>

#include "base/element_types.hpp"
#include "base/errors.hpp"

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

HostArray random_operand(DataType type, std::int64_t count, std::uint64_t seed) {
  const auto elements = static_cast<std::size_t>(count);
  if (!is_floating(type) && !is_float8(type)) return random_array(type, elements, seed);
  if (size_of(type) >= sizeof(float)) return random_array(type, elements, seed);
  HostArray narrow(type, elements);
  if (is_float8(type)) {
    const double steps = type == DataType::float8_e4m3 ? 16.0 : 8.0;
    generate(elements, seed, [&](std::mt19937_64& generator, std::size_t i) {
      narrow.set(i, std::round(static_cast<double>(uniform(generator)) * steps) / steps);
    });
    return narrow;
  }
  const std::vector<float> values = random_values(count, seed);
  if (type == DataType::bfloat16) {
    float32_to_bfloat16(values, narrow.as<std::uint16_t>());
  } else {
    float32_to_float16(values, narrow.as<std::uint16_t>());
  }
  return narrow;
}

HostArray random_array(DataType type, std::size_t count, std::uint64_t seed) {
  HostArray array(type, count);
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      fill<T>(array, seed, uniform);
    } else if constexpr (std::is_integral_v<T>) {
      constexpr unsigned unused = sizeof(T) == 8 ? 0 : 32;  // the generator's better half is used
      fill<T>(array, seed, [](std::mt19937_64& generator) { return generator() >> unused; });
    } else {
      throw usage_error("no random data of type {}", name_of(type));
    }
  });
  return array;
}

}  // namespace tilescope::operations
