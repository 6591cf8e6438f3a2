// Products that multiply a B whose rows begin anywhere from registers: the problems that they take,
// that their kernel compiles and fits, and products in every order; gemm_column_sorting_test.cpp
// has the order of A's columns.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "device/emulated/emulated_device.hpp"
#include "operations/gemm/dispatch/plan_recorder.hpp"
#include "operations/gemm/hopper/unaligned_rows.hpp"
#include "support/gemm_kernels.hpp"
#include "support/gemm_runs.hpp"
#include "support/launch_findings.hpp"

namespace tilescope::operations {
namespace {

using testing::constant;
using ::testing::HasSubstr;
using testing::hopper;
using ::testing::Not;

GemmProblem bf16_product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return dense_problem({m, n, k}, Precision::bf16, DataType::bfloat16, DataType::bfloat16);
}

// The same with a column-major A.
GemmProblem by_columns_of_a(std::int64_t m, std::int64_t n, std::int64_t k,
                            Order order_of_b = Order::row_major) {
  return dense_problem({m, n, k}, Precision::bf16, DataType::bfloat16, DataType::bfloat16,
                       Order::column_major, order_of_b);
}

std::string unaligned_refusal(const GemmProblem& problem) {
  return unaligned_rows_refusal(problem, hopper()).value_or("");
}

TEST(UnalignedRowsRefusal, SaysWhatItDoesNotTake) {
  EXPECT_EQ(unaligned_refusal(bf16_product(127, 8190, 4001)), "");
  EXPECT_EQ(unaligned_refusal(bf16_product(1, 1, 16)), "");
  EXPECT_THAT(unaligned_refusal(bf16_product(1, 1, 15)), HasSubstr("less than 16"));
  EXPECT_THAT(unaligned_refusal(bf16_product(127, 8192, 4000)), HasSubstr("multiples of 16 bytes"));
  EXPECT_EQ(unaligned_refusal(bf16_product(127, 8192, 4001)), "") << "A is B transposed";
  EXPECT_THAT(unaligned_refusal(bf16_product(3, 0, 70)), HasSubstr("nothing"));
  EXPECT_EQ(unaligned_refusal(by_columns_of_a(127, 8190, 4001)), "");
  EXPECT_EQ(unaligned_refusal(by_columns_of_a(1, 1, 16)), "");
  EXPECT_EQ(unaligned_refusal(by_columns_of_a(8190, 128, 4001)), "") << "A is B transposed";
  EXPECT_EQ(unaligned_refusal(by_columns_of_a(8190, 127, 4001, Order::column_major)), "");
  EXPECT_THAT(unaligned_refusal(by_columns_of_a(8192, 128, 4001)), HasSubstr("16 bytes"));
  EXPECT_EQ(unaligned_refusal(by_columns_of_a(8192, 127, 4001, Order::column_major)), "");
  EXPECT_THAT(unaligned_refusal(by_columns_of_a(8192, 127, 4000, Order::column_major)),
              HasSubstr("16 bytes"));
  GemmProblem problem = bf16_product(127, 8190, 4001);
  problem.batch = 2;
  problem.b.batch_stride = 8190 * 4001;
  EXPECT_THAT(unaligned_refusal(problem), HasSubstr("matrices of B"));
  problem.b.batch_stride += 2;
  EXPECT_EQ(unaligned_refusal(problem), "");
  const GemmProblem tf32 =
      dense_problem({127, 8190, 4001}, Precision::tf32, DataType::float32, DataType::float32);
  EXPECT_THAT(unaligned_refusal(tf32), HasSubstr("bf16"));
  EXPECT_THAT(unaligned_rows_refusal(bf16_product(9, 9, 99), testing::a100()).value_or(""),
              HasSubstr("9.0"));
}

Plan plan_of(const GemmProblem& problem) {
  return recorded_plan(gemm_variant("unaligned_rows"), problem, hopper());
}

TEST(UnalignedRows, LaunchesFollowTheShape) {
  const Plan plan = plan_of(bf16_product(127, 8190, 4001));
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(plan.steps[0].kernel, "sort_columns");
  EXPECT_EQ(plan.steps[0].launch.grid.x, 127u);
  EXPECT_EQ(plan.steps[0].launch.grid.y, 4u) << "63 tiles of 64 columns, 1,024 columns a block";
  const Step& multiply = plan.steps[1];
  EXPECT_EQ(constant(multiply, "B_IS_ODD"), "0");
  EXPECT_EQ(constant(multiply, "TILE_M"), "128");
  EXPECT_EQ(multiply.launch.grid.x, 2u * 64u);
  EXPECT_TRUE(multiply.launch.overlaps_previous);
  EXPECT_LE(multiply.launch.shared_bytes, hopper().shared_bytes_per_block_optin);

  const Plan odd = plan_of(bf16_product(300, 1023, 1023));
  EXPECT_EQ(constant(odd.steps.back(), "B_IS_ODD"), "1");
  EXPECT_EQ(odd.steps.back().launch.grid.x, 2u * 3u * 8u);
  const Plan few = plan_of(bf16_product(64, 8188, 4000));
  EXPECT_EQ(constant(few.steps.back(), "TILE_M"), "64");
  EXPECT_EQ(few.steps.back().launch.grid.x, 2u * 64u);
  EXPECT_LE(few.steps.back().launch.shared_bytes, hopper().shared_bytes_per_block_optin);

  const Plan by_columns = plan_of(by_columns_of_a(127, 8190, 4001));
  ASSERT_EQ(by_columns.steps.size(), 2u);
  EXPECT_EQ(by_columns.steps[0].kernel, "sort_transposed");
  EXPECT_EQ(by_columns.steps[0].launch.grid.x, 63u) << "tiles of 64 columns";
  EXPECT_EQ(by_columns.steps[0].launch.grid.y, 4u) << "32 rows a block";
  EXPECT_EQ(by_columns.steps[1].launch.grid.x, multiply.launch.grid.x);
  EXPECT_EQ(by_columns.steps[1].defines, multiply.defines);
}

TEST(UnalignedRows, AlongKNeedNoSortedA) {
  const auto plan = [](std::int64_t k, Order order_of_a) {
    GemmProblem problem = dense_problem({127, 8190, k}, Precision::bf16, DataType::bfloat16,
                                        DataType::bfloat16, order_of_a, Order::column_major);
    problem.b.leading = 4001;
    return plan_of(problem);
  };
  const Plan copied = plan(4001, Order::row_major);
  ASSERT_EQ(copied.steps.size(), 2u);
  EXPECT_EQ(copied.steps[0].kernel, "copy_rows");
  EXPECT_FALSE(copied.steps[0].launch.overlaps_previous) << "B is read beside it";
  EXPECT_EQ(constant(copied.steps[1], "B_ALONG_K"), "1");
  EXPECT_TRUE(copied.steps[1].launch.overlaps_previous);
  EXPECT_LE(copied.steps[1].launch.shared_bytes, hopper().shared_bytes_per_block_optin);
  const Plan turned = plan(4001, Order::column_major);
  ASSERT_EQ(turned.steps.size(), 2u);
  EXPECT_EQ(turned.steps[0].kernel, "transpose_rows");
  const Plan in_place = plan(4000, Order::row_major);
  ASSERT_EQ(in_place.steps.size(), 1u);
  EXPECT_FALSE(in_place.steps[0].launch.overlaps_previous) << "nothing waits for what came before";
}

TEST(UnalignedRows, OfAAreMultipliedInTheTransposedProblem) {
  const Plan plan = plan_of(by_columns_of_a(8190, 127, 4001, Order::column_major));
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(plan.steps[0].kernel, "sort_columns") << "a column-major B is a row-major B^T";
  EXPECT_EQ(plan.steps[0].launch.grid.x, 127u);
  EXPECT_EQ(constant(plan.steps[1], "TRANSPOSED"), "1");
  EXPECT_EQ(constant(plan.steps[1], "C_IS_ODD"), "1") << "rows of C have 127 elements";
  EXPECT_EQ(plan.steps[1].launch.grid.x, 2u * 64u);
  EXPECT_EQ(plan_of(by_columns_of_a(8190, 128, 4001)).steps[0].kernel, "sort_transposed");
  // Rows of both begin anywhere: the larger one is left where it is.
  EXPECT_EQ(constant(plan_of(by_columns_of_a(8190, 127, 4001)).steps[1], "TRANSPOSED"), "1");
  EXPECT_EQ(constant(plan_of(by_columns_of_a(127, 8190, 4001)).steps[1], "TRANSPOSED"), "0");
}

TEST(UnalignedRows, AreDispatchedWhereACopyOfBCostsMore) {
  const auto best = [](const GemmProblem& problem) {
    return best_gemm_variant(problem, hopper()).name;
  };
  EXPECT_EQ(best(bf16_product(127, 8190, 4001)), "unaligned_rows");
  EXPECT_EQ(best(bf16_product(127, 8191, 4001)), "unaligned_rows");
  EXPECT_EQ(best(bf16_product(16, 8191, 2001)), "unaligned_rows");
  EXPECT_EQ(best(bf16_product(128, 16380, 4001)), "unaligned_rows") << "two full rounds";
  GemmProblem added_to = bf16_product(64, 8190, 4001);
  added_to.beta = 0.5;
  EXPECT_EQ(best(added_to), "unaligned_rows");
  GemmProblem short_and_added_to = bf16_product(67, 5406, 392);
  EXPECT_EQ(best(short_and_added_to), "unaligned_rows");
  short_and_added_to.beta = 0.5;
  EXPECT_EQ(best(short_and_added_to), "tensor_tiles") << "C is added slowly";
  EXPECT_NE(best(bf16_product(127, 8192, 4001)), "unaligned_rows") << "aligned";
  EXPECT_NE(best(bf16_product(100, 257, 65)), "unaligned_rows") << "a tie";
  EXPECT_NE(best(bf16_product(1023, 1023, 1023)), "unaligned_rows");
  EXPECT_NE(best(bf16_product(4095, 4097, 4099)), "unaligned_rows")
      << "a copy serves all rows of tiles";
}

TEST(UnalignedRows, OfAColumnMajorAAreDispatchedToo) {
  const auto best = [](const GemmProblem& problem) {
    return best_gemm_variant(problem, hopper()).name;
  };
  EXPECT_EQ(best(by_columns_of_a(94, 5578, 4700)), "unaligned_rows");
  EXPECT_EQ(best(by_columns_of_a(96, 5578, 4700)), "unaligned_rows") << "B alone would be copied";
  EXPECT_EQ(best(by_columns_of_a(127, 8191, 4001)), "unaligned_rows");
  EXPECT_NE(best(by_columns_of_a(94, 5576, 4700)), "unaligned_rows") << "aligned";
  EXPECT_NE(best(by_columns_of_a(4095, 4097, 4099)), "unaligned_rows")
      << "a copy serves all rows of tiles";
  EXPECT_EQ(best(by_columns_of_a(5578, 94, 4700)), "unaligned_rows") << "few columns";
  EXPECT_EQ(best(by_columns_of_a(5578, 94, 4700, Order::column_major)), "unaligned_rows");
  EXPECT_NE(best(by_columns_of_a(5576, 94, 4700)), "unaligned_rows") << "aligned";
  EXPECT_NE(best(by_columns_of_a(5406, 67, 392)), "unaligned_rows") << "k is short";
  GemmProblem along_k = dense_problem({94, 5578, 4700}, Precision::bf16, DataType::bfloat16,
                                      DataType::bfloat16, Order::row_major, Order::column_major);
  along_k.b.leading = 4702;
  EXPECT_EQ(best(along_k), "unaligned_rows");
  along_k.b.leading = 4704;
  EXPECT_NE(best(along_k), "unaligned_rows") << "aligned";
}

std::string log_of(const GemmProblem& problem) {
  return testing::compiler_log("gemm/unaligned_rows.cu", plan_of(problem).steps.back().defines);
}

TEST(UnalignedRowsKernel, CompilesWithoutWarningsAndSpillsNothing) {
  for (const std::int64_t n : {8190, 8191}) {
    for (const std::int64_t m : {64, 127}) {
      SCOPED_TRACE(fmt::format("{} x {}", m, n));
      GemmProblem problem = bf16_product(m, n, 4001);
      const std::string log = log_of(problem);
      EXPECT_THAT(log, HasSubstr("0 bytes spill stores"));
      EXPECT_THAT(log, Not(HasSubstr("warning")));
      EXPECT_THAT(log, Not(HasSubstr("serialized")));
      problem.beta = 1.0;
      problem.has_bias = true;
      problem.activation = Activation::gelu;
      EXPECT_THAT(log_of(problem), Not(HasSubstr("warning")));
      problem = bf16_product(m, n, 4001);
      problem.b.order = Order::column_major;
      problem.b.leading = 4001 + n % 2;
      EXPECT_EQ(constant(plan_of(problem).steps.back(), "B_ALONG_K"), "1");
      EXPECT_THAT(log_of(problem), HasSubstr("0 bytes spill stores"));
      EXPECT_THAT(log_of(problem), Not(HasSubstr("warning")));
      problem = by_columns_of_a(n, m, 4001, Order::column_major);
      const std::string of_columns = log_of(problem);
      EXPECT_THAT(of_columns, HasSubstr("0 bytes spill stores"));
      EXPECT_THAT(of_columns, Not(HasSubstr("warning")));
      EXPECT_THAT(of_columns, Not(HasSubstr("serialized")));
    }
  }
}

// Products on the emulated device: right, and the checker is silent.
class UnalignedRowsEmulated : public ::testing::Test {
 protected:
  void expect_right_and_silent(const GemmProblem& problem) {
    const GemmVariant& variant = gemm_variant("unaligned_rows");
    ASSERT_EQ(variant.refusal(problem, emulated_->properties()).value_or(""), "");
    // The operand that the copy engine reads, elsewhere, goes to another kernel; the other two
    // begin at any element.
    const Plan plan = recorded_plan(variant, problem, hopper());
    const bool transposed = constant(plan.steps.back(), "TRANSPOSED") == "1";
    const bool reads_both = plan.steps.size() == 1;
    const auto begins = [](const testing::GemmMatrices& matrices) {
      return matrices.first() % 16 == 0;
    };
    testing::GemmCase of = generator_.filled(problem);
    while (!begins(transposed ? of.a : of.b) || (reads_both && !(begins(of.a) && begins(of.b)))) {
      of = generator_.filled(problem);
    }
    SCOPED_TRACE(of.text);
    EXPECT_EQ(testing::defects(of, testing::run_gemm(*emulated_, variant, of), true), "");
    EXPECT_EQ(findings_.take(), "");
  }
  // The whole epilogue; with C added and without, and with a C of 32 bits.
  void expect_right_and_silent_with_the_epilogue(GemmProblem problem, Activation activation) {
    problem.alpha = -1.75;
    problem.has_bias = true;
    problem.activation = activation;
    expect_right_and_silent(problem);
    problem.beta = 0.5;
    problem.bias_per_row = true;
    expect_right_and_silent(problem);
    problem.beta = 0.0;
    problem.c.type = DataType::float32;
    expect_right_and_silent(problem);
  }

  std::shared_ptr<device::EmulatedDevice> emulated_ =
      std::make_shared<device::EmulatedDevice>("h200");
  testing::LaunchFindings findings_{*emulated_};
  testing::GemmGenerator generator_{23};
};

TEST_F(UnalignedRowsEmulated, ColumnMajorA) {
  for (const std::int64_t m : {1, 33, 64, 94, 127, 130}) {
    GemmProblem problem = by_columns_of_a(m, 66 + m % 3 * 2, 64 + m);
    problem.a.leading = m + m % 3;
    expect_right_and_silent(problem);
  }
  for (const std::int64_t k : {16, 63, 128, 200}) {
    expect_right_and_silent(by_columns_of_a(70, 67, k));
  }
}

TEST_F(UnalignedRowsEmulated, ColumnMajorAInBatchesAndWithTheEpilogue) {
  GemmProblem problem = by_columns_of_a(50, 135, 99);
  problem.batch = 3;
  problem.a.leading = 53;
  problem.a.batch_stride = 53 * 99 + 1;
  problem.b.batch_stride = 135 * 104;
  problem.alpha = -1.75;
  problem.beta = 0.5;
  problem.has_bias = true;
  expect_right_and_silent(problem);
  problem.a.batch_stride = 0;
  problem.bias_per_row = true;
  problem.activation = Activation::gelu;
  expect_right_and_silent(problem);
}

TEST_F(UnalignedRowsEmulated, TransposedProblems) {
  for (const Order order_of_b : {Order::row_major, Order::column_major}) {
    for (const std::int64_t n : {8, 33, 64, 127, 129}) {
      GemmProblem problem = by_columns_of_a(250 + n % 2, n, 64 + n, order_of_b);
      problem.c.leading = n + n % 3;
      expect_right_and_silent(problem);
    }
  }
  GemmProblem problem = by_columns_of_a(131, 50, 99, Order::column_major);
  problem.batch = 3;
  problem.a.batch_stride = 131 * 104;
  problem.c.leading = 51;
  problem.c.batch_stride = 51 * 131;
  expect_right_and_silent_with_the_epilogue(problem, Activation::relu);
}

// Ends of rows in every place of a chunk, of B in every class of columns; A copied, turned, and
// read where it lies.
TEST_F(UnalignedRowsEmulated, BAlongK) {
  const auto along_k = [](std::int64_t m, std::int64_t n, std::int64_t k, Order order_of_a) {
    return dense_problem({m, n, k}, Precision::bf16, DataType::bfloat16, DataType::bfloat16,
                         order_of_a, Order::column_major);
  };
  for (const Order order_of_a : {Order::row_major, Order::column_major}) {
    for (const std::int64_t m : {1, 33, 64, 94, 130}) {
      expect_right_and_silent(along_k(m, 150 + m, 65 + m, order_of_a));
    }
    for (const std::int64_t k : {17, 63, 127, 130, 201}) {
      expect_right_and_silent(along_k(30, 140 + k % 7, k, order_of_a));
    }
  }
  for (const std::int64_t pitch : {129, 130, 132, 143}) {
    GemmProblem problem = along_k(50, 131, 128, Order::row_major);
    problem.b.leading = pitch;
    expect_right_and_silent(problem);
  }
}

TEST_F(UnalignedRowsEmulated, BAlongKInBatchesAndWithTheEpilogue) {
  GemmProblem problem = dense_problem({50, 135, 99}, Precision::fp16, DataType::float16,
                                      DataType::float16, Order::row_major, Order::column_major);
  problem.batch = 3;
  problem.b.batch_stride = 99 * 136;
  expect_right_and_silent_with_the_epilogue(problem, Activation::gelu);
  // Few columns: the transposed problem has a B along k.
  GemmProblem few = bf16_product(255, 30, 99);
  few.b.leading = 32;
  expect_right_and_silent(few);
  few.has_bias = true;
  few.beta = 0.5;
  expect_right_and_silent(few);
}

TEST_F(UnalignedRowsEmulated, RandomProblems) {
  for (int i = 0; i < 20; ++i) {
    GemmProblem problem;
    do {
      problem = generator_.problem();
    } while (unaligned_rows_refusal(problem, emulated_->properties()));
    expect_right_and_silent(problem);
  }
}

}  // namespace
}  // namespace tilescope::operations
