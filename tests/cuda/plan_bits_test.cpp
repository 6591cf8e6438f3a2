// Plans whose order of sums says all have the same bits, however their tiles look: parts of a
// product over several GPUs may have tiles of their own.
#include <fmt/format.h>

#include <map>

#include "cuda/real_gpu.hpp"
#include "operations/gemm/dispatch/gemm_variants.hpp"
#include "support/gemm_runs.hpp"

namespace tilescope::operations {
namespace {

// The plan of the running test: a variant prepares by a plain function, which cannot carry it.
std::string running_plan;

constexpr GemmVariant planned_variant{
    .name = "tensor_tiles",
    .idea = "",
    .source = "gemm/tensor_tiles.cu",
    .refusal = nullptr,
    .prepare = [](Device& device, const GemmProblem& problem) {
      return gemm_variant("tensor_tiles").prepare_plan(device, problem, running_plan);
    }};

class PlanBitsOnGpu : public testing::RealGpu {};

TEST_F(PlanBitsOnGpu, FollowFromTheOrderOfSums) {
  const GemmVariant& tensor_tiles = gemm_variant("tensor_tiles");
  for (const Precision precision :
       {Precision::bf16, Precision::fp16, Precision::tf32, Precision::fp8_e4m3, Precision::int8}) {
    for (const auto& [shape, b_order] :
         {std::pair{MatmulShape{528, 784, 1040}, Order::column_major},
          std::pair{MatmulShape{144, 272, 4112}, Order::column_major},
          std::pair{MatmulShape{528, 784, 1040}, Order::row_major}}) {
      const bool has_8_bits = size_of(operand_type(precision)) == 1;
      const bool is_like_another = precision == Precision::fp16 || precision == Precision::int8;
      if ((has_8_bits || is_like_another) && b_order == Order::row_major) continue;
      GemmProblem problem = dense_problem(
          shape, precision, operand_type(precision),
          has_8_bits ? sum_type(precision) : operand_type(precision), Order::row_major, b_order);
      if (auto why = tensor_tiles.refusal(problem, gpu_->properties())) GTEST_SKIP() << *why;
      const testing::GemmCase of = testing::aligned_case(problem);
      std::map<std::string, std::pair<std::string, std::vector<std::byte>>> first;  // of an order
      // Fast and slow ones: plans are sorted by time.
      const std::vector<GemmPlan> plans = tensor_tiles.plans(problem, gpu_->properties());
      const std::size_t step = std::max<std::size_t>(1, plans.size() / 7);
      std::size_t multiplied = 0;
      for (std::size_t i = 0; i < plans.size(); i += step, ++multiplied) {
        ASSERT_TRUE(plans[i].order_says_all);
        running_plan = plans[i].text;
        const std::vector<std::byte> image = run_gemm(*gpu_, planned_variant, of).image();
        const auto [known, is_new] = first.try_emplace(plans[i].order, running_plan, image);
        EXPECT_EQ(image, known->second.second) << name_of(precision) << ' ' << shape.k << ": "
                                               << running_plan << " and " << known->second.first;
      }
      EXPECT_LT(first.size(), multiplied) << "no two plans have the same order";
    }
  }
}

}  // namespace
}  // namespace tilescope::operations
