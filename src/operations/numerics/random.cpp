#include "operations/numerics/random.hpp"

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
