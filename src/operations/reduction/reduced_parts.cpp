#include <cmath>

#include "operations/reduction/reduction.hpp"

namespace tilescope::operations {

void Extreme::take(double value, std::int64_t place) {
  const bool beyond = is_least_ ? value < value_ : value > value_;
  if (is_empty_ || (!std::isnan(value_) && (std::isnan(value) || beyond))) {
    value_ = value;
    place_ = place;
  }
  is_empty_ = false;
}

Reduced combined(DataType type, Reduction reduction, const std::vector<ReducedPart>& parts) {
  Reduced reduced;
  reduced.type = is_floating(result_type(type, reduction)) ? DataType::float64 : DataType::int64;
  Extreme extreme(reduction);
  std::size_t count = 0;
  std::vector<double> sums;
  for (const ReducedPart& part : parts) {
    if (part.count == 0) continue;
    count += part.count;
    sums.insert(sums.end(), part.sums.begin(), part.sums.end());
    if (reduction == Reduction::sum) {
      reduced.integer += part.integer;
    } else {
      extreme.take(part.value, part.integer);
    }
  }
  require_reducible({type, count, nullptr}, reduction);
  if (sums_sections(type, reduction)) {
    reduced.real = sum_of_sections(std::move(sums));
  } else if (reduction == Reduction::argmax) {
    reduced.integer = extreme.place();
  } else if (reduction != Reduction::sum) {
    if (is_floating(type)) {
      reduced.real = extreme.value();
    } else {
      reduced.integer = static_cast<std::int64_t>(extreme.value());
    }
  }
  return reduced;
}

}  // namespace tilescope::operations
