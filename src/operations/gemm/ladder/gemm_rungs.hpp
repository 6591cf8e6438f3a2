// The GEMM variants of one precision as rungs of a ladder, with cuBLAS as the baseline.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tilescope/array.hpp>
#include <vector>

#include "operations/gemm/problem/gemm_problem.hpp"
#include "operations/rung/operation.hpp"

namespace tilescope::operations {

/// The rungs for one dense row-major problem. Does not own the operands.
class GemmRungs {
 public:
  GemmRungs(const GemmProblem& problem, const ConstArrayView& a, const ConstArrayView& b);

  /// The variants that compute products of this precision on some GPU, in the order of their table.
  /// They are the same for every shape and device.
  std::vector<VariantInfo> variants() const;
  bool has(std::string_view name) const;
  /// cuBLAS with the fastest of its algorithms.
  VariantInfo peer() const;

  // These implement Operation's functions for the variants and cuBLAS.
  std::optional<std::string> refusal(const VariantInfo& variant, const Device& device) const;
  Plan plan(const VariantInfo& variant, const DeviceProperties& device) const;
  std::unique_ptr<Prepared> prepare(const VariantInfo& variant, Device& device) const;

 private:
  GemmProblem problem_;
  ConstArrayView a_, b_;
};

}  // namespace tilescope::operations
