// For kernels that the copy engine feeds: problems with rows that it takes, of which the random
// ones have few, multiplied on the GPU and compared with the reference.
#pragma once

#include <optional>
#include <string>

#include "cuda/real_gpu.hpp"
#include "support/gemm_runs.hpp"

namespace tilescope::testing {

class AlignedGemmsOnGpu : public RealGpu {
 protected:
  /// `variant`'s product of random operands, and once more with the same bits. What it refuses is
  /// left out.
  void expect_right(const operations::GemmVariant& variant,
                    const operations::GemmProblem& problem) {
    const GemmCase of = aligned(problem);
    if (auto why = variant.refusal(of.problem, gpu_->properties())) {
      refusal_ = why;
      return;
    }
    ++products_;
    const GemmMatrices c = run_gemm(*gpu_, variant, of);
    EXPECT_EQ(defects(of, c, true), "") << of.text;
    EXPECT_EQ(c.image(), run_gemm(*gpu_, variant, of).image()) << of.text << ": other bits";
  }

  // A test whose every problem was refused has shown nothing.
  void TearDown() override {
    if (products_ == 0 && refusal_) GTEST_SKIP() << *refusal_;
  }

 private:
  // Rows of the operands 16 bytes apart or a multiple of it, addresses too.
  GemmCase aligned(operations::GemmProblem problem) {
    for (operations::GemmOperand* operand : {&problem.a, &problem.b}) {
      const auto whole = static_cast<std::int64_t>(16 / size_of(operand->type));
      const bool by_rows = operand->order == Order::row_major;
      const std::int64_t vectors = operand == &problem.a
                                       ? (by_rows ? problem.shape.m : problem.shape.k)
                                       : (by_rows ? problem.shape.k : problem.shape.n);
      operand->leading = (operand->leading + whole - 1) / whole * whole;
      operand->batch_stride = vectors * operand->leading;
    }
    GemmCase of = generator_.filled(problem);
    while (of.a.first() % 16 != 0 || of.b.first() % 16 != 0) of = generator_.filled(problem);
    return of;
  }

  GemmGenerator generator_{11};
  int products_ = 0;
  std::optional<std::string> refusal_;
};

}  // namespace tilescope::testing
