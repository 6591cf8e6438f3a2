// The matmul ladder in a precision other than fp32: operands of its type, the GEMM variants that
// compute it, cuBLAS.
#pragma once

#include <cstdint>

#include "operations/gemm/ladder/gemm_rungs.hpp"

namespace tilescope::operations {

class GemmOperation final : public Operation {
 public:
  /// A and B as random_operand() makes them, of the precision's type, the same for the same seed. C
  /// has that type too, or bfloat16 or int32 for operands of 8 bits, and B of 8 bits is
  /// column-major.
  GemmOperation(const MatmulShape& shape, Precision precision, std::uint64_t seed);

  std::string_view name() const override { return "matmul"; }
  /// Such as "128 x 128 x 128 in bf16".
  std::string size_text() const override;
  std::vector<VariantInfo> variants() const override;
  std::string variant_name(std::string_view name) const override;
  Work work() const override;
  std::optional<std::string> refusal(const VariantInfo& variant,
                                     const Device& device) const override;
  Plan plan(const VariantInfo& variant, const DeviceProperties& device) const override;
  std::unique_ptr<Prepared> prepare(const VariantInfo& variant, Device& device) const override;
  /// The product of the operands as the precision multiplies them, with its bound; sums of 8-bit
  /// operands have to be exact.
  const Expected& expected(const VariantInfo& variant) const override;

  const GemmProblem& problem() const { return problem_; }
  const HostArray& a() const { return a_; }
  const HostArray& b() const { return b_; }

 private:
  GemmProblem problem_;
  HostArray a_, b_;
  GemmRungs rungs_;
  // Computed on first use: the products are large.
  mutable StoredExpected ours_, peers_;
};

}  // namespace tilescope::operations
