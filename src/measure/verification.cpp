#include "measure/verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilescope::measure {

Verification verify(std::span<const double> result, std::span<const double> reference,
                    std::span<const double> bounds) {
  Verification v{.elements = reference.size()};
  const auto count_wrong = [&v](std::size_t index) {
    if (v.wrong++ == 0) v.first_wrong = index;
  };
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double got = result[i], want = reference[i];
    if (!std::isfinite(got) || !std::isfinite(want)) {
      const bool same = std::isnan(want) ? std::isnan(got) : got == want;
      if (!same) count_wrong(i);
      continue;
    }
    const double error = std::abs(got - want);
    v.max_error = std::max(v.max_error, error);
    if (bounds[i] > 0.0) v.max_error_ratio = std::max(v.max_error_ratio, error / bounds[i]);
    if (!(error <= bounds[i])) count_wrong(i);
  }
  return v;
}

std::string describe(const Verification& v, std::span<const double> result,
                     std::span<const double> reference, std::span<const double> bounds) {
  if (v.ok()) return fmt::format("all {} elements are right", v.elements);
  const std::size_t i = v.first_wrong;
  return fmt::format(
      "{} of {} elements are wrong, the first at {}: {:.9g}, not {:.9g} (bound {:.3g})", v.wrong,
      v.elements, i, result[i], reference[i], bounds[i]);
}

}  // namespace tilescope::measure
