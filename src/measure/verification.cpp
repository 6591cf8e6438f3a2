#include "measure/verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include "base/parallel.hpp"

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

Verification verify(const operations::HostArray& result, const operations::Expected& expected) {
  Verification all{.elements = expected.size()};
  if (result.count() != expected.size()) {
    all.wrong = std::max<std::size_t>(1, all.elements);
    return all;
  }
  constexpr std::size_t chunk = 1 << 15;
  std::mutex mutex;
  parallel_for((all.elements + chunk - 1) / chunk, [&](std::size_t c) {
    const std::size_t first = c * chunk, count = std::min(chunk, all.elements - first);
    std::vector<double> got(count), want(count), bounds(count);
    operations::widen(result.view(), first, got);
    expected.get(first, want, bounds);
    const Verification part = verify(got, want, bounds);
    const std::lock_guard lock(mutex);
    if (part.wrong) {
      const std::size_t at = first + part.first_wrong;
      all.first_wrong = all.wrong ? std::min(all.first_wrong, at) : at;
    }
    all.wrong += part.wrong;
    all.max_error = std::max(all.max_error, part.max_error);
    all.max_error_ratio = std::max(all.max_error_ratio, part.max_error_ratio);
  });
  return all;
}

std::string describe(const Verification& v, const operations::HostArray& result,
                     const operations::Expected& expected) {
  if (v.ok()) return fmt::format("all {} elements are right", v.elements);
  if (result.count() != expected.size()) {
    return fmt::format("{} elements, not {}", result.count(), expected.size());
  }
  double got = 0.0, want = 0.0, bound = 0.0;
  operations::widen(result.view(), v.first_wrong, {&got, 1});
  expected.get(v.first_wrong, {&want, 1}, {&bound, 1});
  return fmt::format(
      "{} of {} elements are wrong, the first at {}: {:.9g}, not {:.9g} (bound {:.3g})", v.wrong,
      v.elements, v.first_wrong, got, want, bound);
}

}  // namespace tilescope::measure
