// The rungs between mma.sync and tensor_tiles: their refusals, their launches, that their kernels
// compile, and that the library takes them only by name. tests/cuda runs them.
#include <algorithm>

#include "operations/gemm/dispatch/gemm_variants.hpp"
#include "operations/gemm/dispatch/plan_recorder.hpp"
#include "operations/gemm/hopper/wgmma_rungs.hpp"
#include "support/gemm_kernels.hpp"
#include "support/random_gemm.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::operations {
namespace {

using ::testing::HasSubstr;
using testing::hopper;
using ::testing::Not;

constexpr std::string_view without_producer[] = {"wgmma", "wgmma_stages"};
constexpr std::string_view rungs[] = {"wgmma",      "wgmma_stages", "specialised",
                                      "wide_tiles", "persistent",   "cluster"};

GemmProblem wgmma_product(const MatmulShape& shape, Precision precision = Precision::bf16,
                          Order b_order = Order::row_major) {
  const DataType type = operand_type(precision);
  return dense_problem(shape, precision, type, type, Order::row_major, b_order);
}

std::string refusal_of_wgmma(const GemmProblem& problem) {
  return wgmma_refusal(problem, hopper()).value_or("");
}

TEST(WgmmaRungs, TakeAlignedRowsAndNoOthers) {
  EXPECT_EQ(refusal_of_wgmma(wgmma_product({3, 8, 16})), "");
  EXPECT_EQ(refusal_of_wgmma(wgmma_product({3, 5, 16}, Precision::bf16, Order::column_major)), "");
  EXPECT_EQ(refusal_of_wgmma(wgmma_product({3, 5, 4}, Precision::tf32, Order::column_major)), "");
  EXPECT_EQ(refusal_of_wgmma(wgmma_product({3, 5, 4}, Precision::tf32)), "")
      << "B is transposed first";
  EXPECT_THAT(refusal_of_wgmma(wgmma_product({3, 8, 15})),
              HasSubstr("rows of A must be multiples of 16 bytes"));
  EXPECT_THAT(refusal_of_wgmma(wgmma_product({8192, 8, 8191})), HasSubstr("rows of A"));
  EXPECT_THAT(refusal_of_wgmma(wgmma_product({3, 9, 16})),
              HasSubstr("rows of B must be multiples of 16 bytes"));
  EXPECT_THAT(refusal_of_wgmma(wgmma_product({3, 8, 5}, Precision::tf32)), HasSubstr("rows of A"));
}

TEST(WgmmaRungs, RefuseWhatTensorTilesRefusesAndAByColumns) {
  GemmProblem problem = wgmma_product({16, 16, 16});
  problem.a.order = Order::column_major;
  EXPECT_THAT(refusal_of_wgmma(problem), HasSubstr("A must be row-major"));
  EXPECT_THAT(refusal_of_wgmma(wgmma_product({16, 16, 16}, Precision::fp32)), HasSubstr("tf32"));
  EXPECT_THAT(refusal_of_wgmma(wgmma_product({16, 16, 0})), HasSubstr("nothing"));
  EXPECT_THAT(wgmma_refusal(wgmma_product({16, 16, 16}), testing::a100()).value_or(""),
              HasSubstr("9.0"));
}

TEST(WgmmaRungs, MatricesOfABatchMustBeAligned) {
  GemmProblem problem = wgmma_product({3, 8, 16});
  problem.batch = 2;
  EXPECT_EQ(refusal_of_wgmma(problem), "");
  problem.a.batch_stride += 4;
  EXPECT_THAT(refusal_of_wgmma(problem), HasSubstr("rows of A"));
}

TEST(WgmmaRungs, LaunchWhatTheirNamesSay) {
  struct Expected {
    std::string_view name;
    std::uint32_t blocks, threads, cluster;
  };
  const GemmProblem problem = wgmma_product({8192, 8192, 8192});
  for (const Expected& expected : {Expected{"wgmma", 128 * 64, 128, 1},
                                   {"wgmma_stages", 64 * 64, 256, 1},
                                   {"specialised", 64 * 64, 384, 1},
                                   {"wide_tiles", 64 * 32, 384, 1},
                                   {"persistent", 132, 384, 1},
                                   {"cluster", 132, 384, 2}}) {
    SCOPED_TRACE(expected.name);
    const Plan plan = recorded_plan(gemm_variant(expected.name), problem, hopper());
    ASSERT_EQ(plan.steps.size(), 1u);
    const Launch& launch = plan.steps[0].launch;
    EXPECT_EQ(launch.grid, Dim3{expected.blocks});
    EXPECT_EQ(launch.block, Dim3{expected.threads});
    EXPECT_EQ(launch.cluster, Dim3{expected.cluster});
    EXPECT_LE(launch.shared_bytes, hopper().shared_bytes_per_block_optin);
  }
}

TEST(WgmmaRungs, CoverEveryTileOfEveryMatrix) {
  GemmProblem problem = wgmma_product({129, 136, 200});
  problem.batch = 3;
  for (const auto& [name, blocks] : {std::pair{"wgmma", 3 * 2}, {"wgmma_stages", 2 * 2}}) {
    const Plan plan = recorded_plan(gemm_variant(name), problem, hopper());
    EXPECT_EQ(plan.steps[0].launch.grid, Dim3{static_cast<std::uint32_t>(3 * blocks)}) << name;
  }
}

TEST(WgmmaRungs, AreGivenToNobodyWhoDidNotAsk) {
  for (const testing::GemmCase& of : testing::random_gemms()) {
    const std::string_view best = best_gemm_variant(of.problem, hopper()).name;
    EXPECT_EQ(std::count(std::begin(rungs), std::end(rungs), best), 0) << best << " " << of.text;
  }
  EXPECT_EQ(best_gemm_variant(wgmma_product({4096, 4096, 4096}), hopper()).name, "tensor_tiles");
}

TEST(WgmmaRungs, CompileWithoutWarningsAndSpillNothing) {
  GemmProblem epilogue = wgmma_product({256, 256, 256}, Precision::fp16, Order::column_major);
  epilogue.c.type = DataType::float32;
  epilogue.beta = 1.0;
  epilogue.has_bias = true;
  epilogue.activation = Activation::gelu;
  for (const std::string_view name : without_producer) {
    for (const GemmProblem& problem : {wgmma_product({256, 256, 256}), epilogue,
                                       wgmma_product({256, 256, 256}, Precision::tf32)}) {
      const Step step = recorded_plan(gemm_variant(name), problem, hopper()).steps.back();
      const std::string log = testing::compiler_log(step.source, step.defines);
      SCOPED_TRACE(name);
      EXPECT_THAT(log, HasSubstr("0 bytes spill stores, 0 bytes spill loads"));
      EXPECT_THAT(log, Not(HasSubstr("warning")));
      EXPECT_THAT(log, Not(HasSubstr("serialized")));
    }
  }
}

}  // namespace
}  // namespace tilescope::operations
