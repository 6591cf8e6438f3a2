// The matmul ladder's problem: one shape, random operands, all variants, in float32.
#pragma once

#include <cstdint>
#include <tilescope/matrix.hpp>
#include <vector>

#include "operations/gemm/ladder/gemm_rungs.hpp"

namespace tilescope::operations {

class MatmulOperation final : public Operation {
 public:
  /// A and B uniform in [-1, 1], the same for the same seed.
  MatmulOperation(const MatmulShape& shape, std::uint64_t seed);

  std::string_view name() const override { return "matmul"; }
  std::string size_text() const override;
  std::vector<VariantInfo> variants() const override;
  std::string variant_name(std::string_view name) const override;
  Work work() const override;
  std::optional<std::string> refusal(const VariantInfo& variant,
                                     const Device& device) const override;
  Plan plan(const VariantInfo& variant, const DeviceProperties& device) const override;
  std::unique_ptr<Prepared> prepare(const VariantInfo& variant, Device& device) const override;
  const Expected& expected(const VariantInfo& variant) const override;

  const MatmulShape& shape() const { return shape_; }
  const std::vector<float>& a() const { return a_; }
  const std::vector<float>& b() const { return b_; }

 private:
  MatmulShape shape_;
  std::vector<float> a_, b_;
  GemmRungs gemm_;  ///< the rungs above those of the table
  // Computed on first use: the products are large.
  mutable StoredExpected float_sums_, double_sums_;
};

}  // namespace tilescope::operations
