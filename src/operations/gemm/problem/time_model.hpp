// Terms that models of a product's time share.
#pragma once

#include <cmath>

namespace tilescope::operations {

/// The time of two that go on at once: the longer one, and the less of the other the greater
/// `power` is.
inline double overlapped(double one, double other, double power) {
  return std::pow(std::pow(one, power) + std::pow(other, power), 1.0 / power);
}

}  // namespace tilescope::operations
