// Many small products on the GPU: blocks that take several each, by some plans of every precision.
#include "cuda/real_gpu.hpp"
#include "operations/gemm/dispatch/variant_plans.hpp"
#include "support/gemm_runs.hpp"

namespace tilescope::operations {
namespace {

class SmallProductsOnGpu : public testing::RealGpu,
                           public ::testing::WithParamInterface<Precision> {};

TEST_P(SmallProductsOnGpu, SomePlans) {
  constexpr std::size_t most_plans = 6;
  const Precision precision = GetParam();
  const bool is_8_bits = size_of(operand_type(precision)) == 1;
  testing::GemmGenerator generator(21);
  for (const MatmulShape& shape : {MatmulShape{16, 16, 16}, {29, 37, 61}, {64, 64, 64}}) {
    GemmProblem problem =
        dense_problem(shape, precision, operand_type(precision), usual_result_type(precision),
                      Order::row_major, is_8_bits ? Order::column_major : Order::row_major);
    // More products than the GPU holds blocks of the smallest kind, so that blocks take several.
    problem.batch = shape.k == 16 ? 9000 : 2000;
    if (const auto why = gemm_variant("small_products").refusal(problem, gpu_->properties())) {
      GTEST_SKIP() << *why;
    }
    const testing::GemmCase of = generator.filled(problem);
    const std::vector<GemmPlan> plans = small_products_plans(problem, gpu_->properties());
    for (std::size_t i = 0; i < plans.size(); i += plans.size() / most_plans + 1) {
      static std::string plan;
      plan = plans[i].text;
      GemmVariant variant = gemm_variant("small_products");
      variant.prepare = [](Device& device, const GemmProblem& one) {
        return prepare_small_products_plan(device, one, plan);
      };
      EXPECT_EQ(testing::defects(of, run_gemm(*gpu_, variant, of), precision != Precision::fp32),
                "")
          << plan;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, SmallProductsOnGpu,
                         ::testing::Values(Precision::fp32, Precision::tf32, Precision::bf16,
                                           Precision::fp16, Precision::int8, Precision::fp8_e4m3,
                                           Precision::fp8_e5m2),
                         [](const auto& of) { return std::string(name_of(of.param)); });

}  // namespace
}  // namespace tilescope::operations
