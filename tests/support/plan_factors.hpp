// Factors by which networks correct the models of plans.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

namespace tilescope::testing {

/// The network has a usable one for a plan with such features.
template <typename Network, typename Features>
void expect_a_factor(const Network& network, const Features& features) {
  for (const double feature : features) EXPECT_TRUE(std::isfinite(feature));
  const double factor = network.measured_over_expected(features);
  EXPECT_GE(factor, 0.8);
  EXPECT_LE(factor, 1.25);
}

}  // namespace tilescope::testing
