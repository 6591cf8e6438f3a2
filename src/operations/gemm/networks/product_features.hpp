// Properties of a product, whatever kernel computes it, by which networks tell how far the models
// of plans are wrong.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

constexpr std::size_t product_features = 16;

/// Extents and bytes are binary logarithms.
std::array<double, product_features> features_of_product(const GemmProblem& problem);

/// Those of the product, then those of a plan.
template <std::size_t Own>
std::array<double, product_features + Own> with_features_of_product(
    const GemmProblem& problem, const std::array<double, Own>& own) {
  std::array<double, product_features + Own> all{};
  const auto of_product = features_of_product(problem);
  std::copy(own.begin(), own.end(), std::copy(of_product.begin(), of_product.end(), all.begin()));
  return all;
}

constexpr std::int64_t least_measured = 64;  ///< rows and columns

/// Whether plans of products of such extents were measured: 64 to 8,192 rows and columns, 16 to
/// 8,192 steps of k, up to 2^35 multiplications. Too few products with more were.
bool has_measured_extents(const GemmProblem& problem);

}  // namespace tilescope::operations
