// Products on the GPU whose B has rows that begin anywhere, multiplied from registers: few of the
// random problems for all kernels are such, so that these are drawn until 200 are.
#include "operations/gemm/hopper/unaligned_rows.hpp"

#include <fmt/format.h>

#include "cuda/real_gpu.hpp"
#include "operations/gemm/dispatch/gemm_variants.hpp"
#include "operations/gemm/dispatch/plan_recorder.hpp"
#include "support/gemm_kernels.hpp"
#include "support/gemm_runs.hpp"

namespace tilescope::operations {
namespace {

class UnalignedRowsOnGpu : public testing::RealGpu {
 protected:
  void expect_right(const GemmProblem& problem) {
    if (!gpu_->properties().warpgroup_products) GTEST_SKIP() << "wgmma needs Hopper";
    const GemmVariant& variant = gemm_variant("unaligned_rows");
    ASSERT_EQ(variant.refusal(problem, gpu_->properties()).value_or(""), "");
    // The operand that the copy engine reads, elsewhere, goes to another kernel; the other two
    // begin at any element.
    const Plan plan = recorded_plan(variant, problem, gpu_->properties());
    const bool transposed = testing::constant(plan.steps.back(), "TRANSPOSED") == "1";
    testing::GemmCase of = generator_.filled(problem);
    while ((transposed ? of.a : of.b).first() % 16 != 0) of = generator_.filled(problem);
    const testing::GemmMatrices c = run_gemm(*gpu_, variant, of);
    EXPECT_EQ(testing::defects(of, c, true), "");
    EXPECT_EQ(c.image(), run_gemm(*gpu_, variant, of).image()) << "another run, other bits";
  }

  // As it is, with gaps between the rows of C, and with C and a bias added.
  void expect_right_with_gaps_and_addend(GemmProblem problem, std::int64_t gap) {
    expect_right(problem);
    problem.c.leading += gap;
    expect_right(problem);
    problem.beta = 0.5;
    problem.has_bias = true;
    expect_right(problem);
  }

  testing::GemmGenerator generator_{17};
};

// Twenty problems share types and an epilogue: a kernel is compiled for each.
TEST_F(UnalignedRowsOnGpu, RandomProblems) {
  if (!gpu_->properties().warpgroup_products) GTEST_SKIP() << "wgmma needs Hopper";
  GemmProblem alike;
  for (int i = 0; i < 200; ++i) {
    GemmProblem problem = generator_.problem();
    while (unaligned_rows_refusal(problem, gpu_->properties())) problem = generator_.problem();
    if (i % 20 == 0) alike = problem;
    problem.precision = alike.precision;
    problem.a.type = alike.a.type;
    problem.b.type = alike.b.type;
    problem.c.type = alike.c.type;
    problem.beta = alike.beta;
    problem.has_bias = alike.has_bias;
    problem.bias_per_row = alike.bias_per_row;
    problem.activation = alike.activation;
    expect_right(problem);
  }
}

GemmProblem product(std::int64_t m, std::int64_t n, std::int64_t k,
                    Precision precision = Precision::bf16, Order order_of_a = Order::row_major,
                    Order order_of_b = Order::row_major) {
  return dense_problem({m, n, k}, precision, operand_type(precision), operand_type(precision),
                       order_of_a, order_of_b);
}

// Pitches of one, two and four elements more than a chunk; ends of rows in every place of a chunk,
// of k in every class and place of a tile; columns in the first half of a tile alone, in both, and
// in several tiles.
TEST_F(UnalignedRowsOnGpu, EveryClassAndEnd) {
  for (const std::int64_t n : {1, 7, 60, 63, 66, 122, 123, 124, 125, 126, 127, 130, 252}) {
    expect_right(product(70, n, 65 + n % 17));
    expect_right(product(n + 3, n, 72 + n));
  }
  for (std::int64_t k = 125; k < 138; ++k) expect_right(product(20, 67, k));
}

TEST_F(UnalignedRowsOnGpu, LongerThanThePipeline) {
  for (const std::int64_t n : {131, 134, 132}) {
    expect_right(product(30, n, 1001));
    expect_right(product(129, n, 711, Precision::fp16));
  }
}

TEST_F(UnalignedRowsOnGpu, GapsBetweenRows) {
  for (const std::int64_t leading : {260, 262, 263, 281}) {
    GemmProblem problem = product(100, 251, 150, Precision::fp16);
    problem.b.leading = leading;
    problem.c.leading = leading + 1;
    expect_right(problem);
    problem.a.leading = 152;
    expect_right(problem);
  }
}

// A is transposed as it is sorted: rows in one block and in several, ends of k in every place of a
// tile, columns with gaps between them.
TEST_F(UnalignedRowsOnGpu, ColumnMajorA) {
  const auto of_columns = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return product(m, n, k, Precision::bf16, Order::column_major);
  };
  for (const std::int64_t m : {1, 31, 32, 33, 64, 94, 127, 128, 129, 300}) {
    GemmProblem problem = of_columns(m, 131, 65 + m);
    expect_right(problem);
    problem.a.leading += 1 + m % 3;
    expect_right(problem);
  }
  for (std::int64_t k = 125; k < 190; ++k) expect_right(of_columns(70, 67, k));
  expect_right(of_columns(94, 1006, 1100));
  GemmProblem problem = of_columns(50, 135, 99);
  problem.batch = 3;
  problem.a.batch_stride += 1;
  problem.b.batch_stride = 135 * 104;
  problem.beta = 0.5;
  expect_right(problem);
}

// A is read where it lies, and C, of few columns, stored as a column-major one.
TEST_F(UnalignedRowsOnGpu, TransposedProblems) {
  for (const Order order_of_b : {Order::row_major, Order::column_major}) {
    for (const std::int64_t n : {8, 31, 64, 94, 127, 129, 200}) {
      const GemmProblem problem =
          product(251, n, 65 + n, Precision::fp16, Order::column_major, order_of_b);
      expect_right_with_gaps_and_addend(problem, 1 + n % 3);
    }
  }
  expect_right(product(1006, 94, 1100, Precision::bf16, Order::column_major));
}

// Ends of rows in every place of a chunk and of a tile; A copied, turned, and read where it lies.
TEST_F(UnalignedRowsOnGpu, BAlongK) {
  const auto along_k = [](std::int64_t m, std::int64_t n, std::int64_t k, Order order_of_a) {
    GemmProblem problem = product(m, n, k, Precision::bf16, order_of_a, Order::column_major);
    if (k % 8 == 0) problem.b.leading = k + 1;
    return problem;
  };
  for (const Order order_of_a : {Order::row_major, Order::column_major}) {
    for (const std::int64_t m : {1, 31, 64, 94, 129}) {
      expect_right_with_gaps_and_addend(along_k(m, 150 + m, 65 + m, order_of_a), 1 + m % 3);
    }
    for (std::int64_t k = 125; k < 142; ++k) {
      expect_right(along_k(70, 139, k, order_of_a));
    }
  }
  for (const std::int64_t pitch : {1001, 1002, 1004, 1013}) {
    GemmProblem problem =
        product(94, 506, 1000, Precision::fp16, Order::row_major, Order::column_major);
    problem.b.leading = pitch;
    expect_right(problem);
  }
  expect_right(product(506, 94, 1001));  // few columns: the transposed problem
}

TEST_F(UnalignedRowsOnGpu, BatchesAndTheEpilogue) {
  GemmProblem problem = product(50, 135, 99);
  problem.batch = 3;
  problem.b.batch_stride = 135 * 104;
  problem.alpha = -1.75;
  problem.has_bias = true;
  problem.activation = Activation::gelu;
  expect_right(problem);
  problem.bias_per_row = true;
  problem.activation = Activation::relu;
  problem.a.leading = 104;
  problem.a.batch_stride = 104 * 50;
  expect_right(problem);
}

}  // namespace
}  // namespace tilescope::operations
