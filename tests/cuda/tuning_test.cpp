// Tuning on a real GPU: every candidate is right, and matmul() takes the fastest.
#include <tilescope/tuning.hpp>

#include "cuda/real_gpu.hpp"
#include "support/matrices.hpp"

namespace tilescope {
namespace {

class TuningOnGpu : public testing::RealGpu {
 protected:
  void tune_and_multiply(Precision precision, DataType type, const MatmulShape& shape) {
    const TuneReport report =
        tune_matmul(*gpu_, {.shape = shape, .precision = precision, .type = type});
    ASSERT_GT(report.candidates.size(), 1u);
    std::string chosen;
    for (const TuneCandidate& one : report.candidates) {
      EXPECT_TRUE(one.verdict == TuneVerdict::ok || one.verdict == TuneVerdict::slower)
          << one.variant << ' ' << one.plan << ": " << one.reason;
      EXPECT_GT(one.time_ms, 0.0);
      if (one.chosen) chosen = one.variant;
    }
    testing::TestMatrix a(type, shape.m, shape.k), b(type, shape.k, shape.n),
        c(type, shape.m, shape.n);
    a.fill_random(1);
    b.fill_random(2);
    const MatmulReport product =
        matmul(*gpu_, a.view(), b.view(), c.view(), {.precision = precision});
    EXPECT_EQ(product.variant, chosen);
    EXPECT_THAT(product.note, ::testing::StartsWith("tuned"));
    EXPECT_EQ(forget_tuned_matmuls([&](const std::string& name) { return name == report.product; }),
              1u);
  }
};

TEST_F(TuningOnGpu, MatmulTakesTheFastestOfRightOnes) {
  tune_and_multiply(Precision::bf16, DataType::bfloat16, {300, 500, 700});
  tune_and_multiply(Precision::bf16, DataType::float32, {127, 255, 129});
  tune_and_multiply(Precision::tf32, DataType::float32, {256, 256, 1000});
  tune_and_multiply(Precision::fp32, DataType::float32, {200, 300, 999});
}

}  // namespace
}  // namespace tilescope
