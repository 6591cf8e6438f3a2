#include "operations/numerics/expected.hpp"

#include <algorithm>

namespace tilescope::operations {

void StoredExpected::get(std::size_t first, std::span<double> values,
                         std::span<double> bounds) const {
  std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(first), values.size(), values.begin());
  std::copy_n(bounds_.begin() + static_cast<std::ptrdiff_t>(first), bounds.size(), bounds.begin());
}

void ArrayExpected::get(std::size_t first, std::span<double> values,
                        std::span<double> bounds) const {
  widen(values_.view(), first, values);
  std::fill(bounds.begin(), bounds.end(), bound_);
}

}  // namespace tilescope::operations
