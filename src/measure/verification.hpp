// Verification of results: every element against the reference, within a bound from error analysis,
// and NaN or infinity only where the reference has them.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "operations/numerics/expected.hpp"

namespace tilescope::measure {

/// The result of a verification.
struct Verification {
  std::size_t elements = 0;
  std::size_t wrong = 0;         ///< elements outside their bound
  std::size_t first_wrong = 0;   ///< index of the first of them
  double max_error = 0.0;        ///< largest |result - reference| of finite elements
  double max_error_ratio = 0.0;  ///< largest error over its bound; at most 1 if nothing is wrong

  bool ok() const { return wrong == 0; }
};

/// Compares result[i] with reference[i]: right if |difference| <= bounds[i]; NaN matches only NaN,
/// an infinity the same infinity. The three have one length.
Verification verify(std::span<const double> result, std::span<const double> reference,
                    std::span<const double> bounds);

/// The same for a result of any type, on all cores. In a result of another length all elements are
/// wrong.
Verification verify(const operations::HostArray& result, const operations::Expected& expected);

/// One line on the wrong elements, such as "3 of 100 elements are wrong, the first at 7: 1.5, not 2
/// (bound 1e-06)".
std::string describe(const Verification& verification, const operations::HostArray& result,
                     const operations::Expected& expected);

}  // namespace tilescope::measure
