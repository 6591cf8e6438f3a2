// Products that multiply a B whose rows begin anywhere from registers: what they take, and that
// their kernel compiles and fits.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "operations/gemm/plan_recorder.hpp"
#include "operations/gemm/unaligned_rows.hpp"
#include "support/gemm_kernels.hpp"

namespace tilescope::operations {
namespace {

using testing::constant;
using ::testing::HasSubstr;
using testing::hopper;
using ::testing::Not;

GemmProblem product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return dense_problem({m, n, k}, Precision::bf16, DataType::bfloat16, DataType::bfloat16);
}

std::string refusal(const GemmProblem& problem) {
  return unaligned_rows_refusal(problem, hopper()).value_or("");
}

TEST(UnalignedRowsRefusal, SaysWhatItDoesNotTake) {
  EXPECT_EQ(refusal(product(127, 8190, 4001)), "");
  EXPECT_EQ(refusal(product(1, 1, 65)), "");
  EXPECT_THAT(refusal(product(1, 1, 64)), HasSubstr("k is at most 64"));
  EXPECT_THAT(refusal(product(127, 8192, 4001)), HasSubstr("multiples of 16 bytes"));
  EXPECT_THAT(refusal(product(3, 0, 70)), HasSubstr("nothing"));
  GemmProblem problem = product(127, 8190, 4001);
  problem.a.order = Order::column_major;
  EXPECT_THAT(refusal(problem), HasSubstr("row-major"));
  problem = product(127, 8190, 4001);
  problem.b.order = Order::column_major;
  EXPECT_THAT(refusal(problem), HasSubstr("row-major"));
  problem = product(127, 8190, 4001);
  problem.beta = 0.5;
  EXPECT_THAT(refusal(problem), HasSubstr("beta"));
  problem = product(127, 8190, 4001);
  problem.c.type = DataType::float32;
  EXPECT_THAT(refusal(problem), HasSubstr("16 bits"));
  problem = product(127, 8190, 4001);
  problem.batch = 2;
  problem.b.batch_stride = 8190 * 4001;
  EXPECT_THAT(refusal(problem), HasSubstr("matrices of B"));
  problem.b.batch_stride += 2;
  EXPECT_EQ(refusal(problem), "");
  const GemmProblem tf32 =
      dense_problem({127, 8190, 4001}, Precision::tf32, DataType::float32, DataType::float32);
  EXPECT_THAT(refusal(tf32), HasSubstr("bf16"));
  EXPECT_THAT(unaligned_rows_refusal(product(9, 9, 99), testing::a100()).value_or(""),
              HasSubstr("9.0"));
}

Plan plan_of(const GemmProblem& problem) {
  return recorded_plan(gemm_variant("unaligned_rows"), problem, hopper());
}

TEST(UnalignedRows, LaunchesFollowTheClassesOfRows) {
  const Plan plan = plan_of(product(127, 8190, 4001));
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(plan.steps[0].kernel, "copy_rows");
  const Step& multiply = plan.steps[1];
  EXPECT_EQ(constant(multiply, "CLASSES"), "4");
  EXPECT_EQ(multiply.launch.grid.x, 2u * 64u);
  EXPECT_TRUE(multiply.launch.overlaps_previous);
  EXPECT_LE(multiply.launch.shared_bytes, hopper().shared_bytes_per_block_optin);

  const Plan odd = plan_of(product(300, 1023, 1023));
  EXPECT_EQ(constant(odd.steps.back(), "CLASSES"), "8");
  EXPECT_EQ(odd.steps.back().launch.grid.x, 2u * 3u * 8u);
  const Plan aligned_a = plan_of(product(127, 8188, 4000));
  ASSERT_EQ(aligned_a.steps.size(), 1u);
  EXPECT_EQ(constant(aligned_a.steps[0], "CLASSES"), "2");
  EXPECT_FALSE(aligned_a.steps[0].launch.overlaps_previous);
}

TEST(UnalignedRows, AreDispatchedWhereTheyWereMeasured) {
  const auto best = [](const GemmProblem& problem) {
    return best_gemm_variant(problem, hopper()).name;
  };
  EXPECT_EQ(best(product(127, 8190, 4001)), "unaligned_rows");
  EXPECT_EQ(best(product(127, 8191, 4001)), "unaligned_rows");
  EXPECT_EQ(best(product(128, 16380, 4001)), "unaligned_rows") << "two full rounds";
  EXPECT_NE(best(product(127, 8192, 4001)), "unaligned_rows") << "aligned";
  EXPECT_NE(best(product(129, 8190, 4001)), "unaligned_rows") << "two rows of tiles";
  EXPECT_NE(best(product(64, 8190, 4001)), "unaligned_rows") << "half a tile";
  EXPECT_NE(best(product(127, 4094, 4001)), "unaligned_rows") << "half a round";
  EXPECT_NE(best(product(127, 8190, 999)), "unaligned_rows") << "a short k";
  EXPECT_NE(best(product(1023, 1023, 1023)), "unaligned_rows");
}

std::string log_of(const GemmProblem& problem) {
  return testing::compiler_log("gemm/unaligned_rows.cu", plan_of(problem).steps.back().defines);
}

TEST(UnalignedRowsKernel, CompilesWithoutWarningsAndSpillsNothing) {
  for (const std::int64_t n : {8188, 8190, 8191}) {
    SCOPED_TRACE(n);
    GemmProblem problem = product(127, n, 4001);
    const std::string log = log_of(problem);
    EXPECT_THAT(log, HasSubstr("0 bytes spill stores"));
    EXPECT_THAT(log, Not(HasSubstr("warning")));
    EXPECT_THAT(log, Not(HasSubstr("serialized")));
    problem.has_bias = true;
    problem.activation = Activation::gelu;
    EXPECT_THAT(log_of(problem), Not(HasSubstr("warning")));
  }
}

}  // namespace
}  // namespace tilescope::operations
