// Arrays for tests.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "operations/numerics/host_array.hpp"

namespace tilescope::testing {

/// The values as a float64 array, or as float32 for floats.
template <typename T>
operations::HostArray host_array(const std::vector<T>& values) {
  constexpr bool wide = std::is_same_v<T, double>;
  static_assert(wide || std::is_same_v<T, float>);
  operations::HostArray array(wide ? DataType::float64 : DataType::float32, values.size());
  std::copy(values.begin(), values.end(), array.as<T>().begin());
  return array;
}

inline std::vector<double> doubles(const operations::HostArray& array) {
  std::vector<double> values(array.count());
  operations::widen(array.view(), 0, values);
  return values;
}

}  // namespace tilescope::testing
