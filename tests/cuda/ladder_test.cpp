// Every rung on the GPU: awkward extents, and a size that every tile divides.
#include "measure/ladder.hpp"

#include "cuda/real_gpu.hpp"
#include "operations/gemm/ladder/gemm_operation.hpp"
#include "operations/matmul/matmul_operation.hpp"

namespace tilescope {
namespace {

using LadderOnGpu = testing::RealGpu;

void expect_every_rung_verified(Device& gpu, const MatmulShape& shape) {
  const operations::MatmulOperation operation(shape, 1);
  const auto results = measure::climb(operation, gpu, {.timing = {.most_samples = 9}});
  EXPECT_EQ(results.size(), operation.variants().size());
  int ok = 0;
  for (const measure::RungResult& result : results) {
    SCOPED_TRACE(result.variant.name + ": " + result.reason);
    if (operation.refusal(result.variant, gpu)) {
      EXPECT_EQ(result.verdict, measure::Verdict::skipped);
      continue;
    }
    EXPECT_EQ(result.verdict, measure::Verdict::ok);
    EXPECT_TRUE(result.timing);
    ++ok;
  }
  EXPECT_GE(ok, 15) << "most rungs must run on any GPU";
}

TEST_F(LadderOnGpu, EveryRungIsVerifiedOnAwkwardExtents) {
  expect_every_rung_verified(*gpu_, {1000, 999, 1001});
}

TEST_F(LadderOnGpu, EveryRungIsVerifiedOnWholeTiles) {
  expect_every_rung_verified(*gpu_, {256, 256, 256});
}

TEST_F(LadderOnGpu, EveryPrecisionsRungsAreVerified) {
  for (const Precision precision :
       {Precision::fp32_fast, Precision::tf32, Precision::bf16, Precision::fp16, Precision::fp64,
        Precision::fp8_e4m3, Precision::fp8_e5m2, Precision::int8}) {
    for (const MatmulShape& shape :
         {MatmulShape{512, 256, 384}, {1000, 999, 1001}, {257, 1, 300}, {1, 129, 77}}) {
      const operations::GemmOperation operation(shape, precision, 1);
      for (const measure::RungResult& result :
           measure::climb(operation, *gpu_, {.timing = {.most_samples = 9}})) {
        // cuBLAS adds parts of k in bfloat16 at some odd shapes, and the ladder rightly calls that
        // wrong.
        const bool may_be_wrong = result.variant.is_peer && precision == Precision::bf16;
        if (may_be_wrong && result.verdict == measure::Verdict::wrong) continue;
        SCOPED_TRACE(operation.size_text() + ", " + result.variant.name + ": " + result.reason);
        const bool refused = operation.refusal(result.variant, *gpu_).has_value();
        EXPECT_EQ(result.verdict, refused ? measure::Verdict::skipped : measure::Verdict::ok);
      }
    }
  }
}

TEST_F(LadderOnGpu, TheOneBlockKernelRunsWhereItFits) {
  const operations::MatmulOperation operation({32, 31, 100}, 1);
  const auto results = measure::climb(operation, *gpu_, {.only = {"one_block"}});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].verdict, measure::Verdict::ok) << results[0].reason;
}

TEST_F(LadderOnGpu, TinyExtents) {
  for (const MatmulShape& shape : {MatmulShape{1, 1, 1}, MatmulShape{1, 257, 3},
                                   MatmulShape{257, 1, 3}, MatmulShape{3, 5, 0}}) {
    const operations::MatmulOperation operation(shape, 1);
    for (const auto& result :
         measure::climb(operation, *gpu_, {.timing = {.least_samples = 1, .most_samples = 1}})) {
      EXPECT_NE(result.verdict, measure::Verdict::wrong)
          << shape_text(shape) << ' ' << result.variant.name << ": " << result.reason;
    }
  }
}

}  // namespace
}  // namespace tilescope
