// The rungs on Hopper's tensor cores at extents around their tiles and their steps along k, with
// rows that the copy engine takes: of the random problems few are such.
#include <tuple>

#include "cuda/real_gpu.hpp"
#include "support/gemm_runs.hpp"

namespace tilescope::operations {
namespace {

class GemmRungsOnGpu : public testing::RealGpu, public ::testing::WithParamInterface<const char*> {
 protected:
  // Rows of the operands 16 bytes apart or a multiple of it, addresses too.
  testing::GemmCase aligned(GemmProblem problem) {
    for (GemmOperand* operand : {&problem.a, &problem.b}) {
      const auto whole = static_cast<std::int64_t>(16 / size_of(operand->type));
      const bool by_rows = operand->order == Order::row_major;
      const std::int64_t vectors = operand == &problem.a
                                       ? (by_rows ? problem.shape.m : problem.shape.k)
                                       : (by_rows ? problem.shape.k : problem.shape.n);
      operand->leading = (operand->leading + whole - 1) / whole * whole;
      operand->batch_stride = vectors * operand->leading;
    }
    testing::GemmCase of = generator_.filled(problem);
    while (of.a.first() % 16 != 0 || of.b.first() % 16 != 0) of = generator_.filled(problem);
    return of;
  }

  void expect_right(const GemmProblem& problem) {
    const GemmVariant& variant = gemm_variant(GetParam());
    const testing::GemmCase of = aligned(problem);
    if (auto why = variant.refusal(of.problem, gpu_->properties())) GTEST_SKIP() << *why;
    EXPECT_EQ(testing::defects(of, run_gemm(*gpu_, variant, of), true), "") << of.text;
  }

  testing::GemmGenerator generator_{11};
};

TEST_P(GemmRungsOnGpu, ExtentsAroundTilesAndStages) {
  for (const Precision precision : {Precision::bf16, Precision::fp16, Precision::tf32}) {
    for (const Order b_order : {Order::row_major, Order::column_major}) {
      for (const MatmulShape& shape : {MatmulShape{64, 128, 64},
                                       {128, 256, 256},
                                       {65, 129, 65},
                                       {63, 127, 63},
                                       {1, 1, 1},
                                       {300, 500, 333},
                                       {129, 257, 700},
                                       {1100, 8, 40}}) {
        expect_right(dense_problem(shape, precision, operand_type(precision), DataType::float32,
                                   Order::row_major, b_order));
      }
    }
  }
}

TEST_P(GemmRungsOnGpu, BatchesAndTheEpilogue) {
  for (const Precision precision : {Precision::bf16, Precision::fp16, Precision::tf32}) {
    GemmProblem problem =
        dense_problem({150, 270, 130}, precision, operand_type(precision), operand_type(precision));
    problem.batch = 5;
    expect_right(problem);
    problem.alpha = -1.75;
    problem.beta = 0.5;
    problem.has_bias = true;
    problem.activation = Activation::gelu;
    expect_right(problem);
    problem.beta = 0.0;
    problem.bias_per_row = true;
    problem.activation = Activation::relu;
    expect_right(problem);
  }
}

// More tiles than run at once: blocks that stay take several.
TEST_P(GemmRungsOnGpu, ManyTiles) {
  expect_right(
      dense_problem({2100, 2064, 72}, Precision::bf16, DataType::bfloat16, DataType::bfloat16));
}

INSTANTIATE_TEST_SUITE_P(Rungs, GemmRungsOnGpu,
                         ::testing::Values("wgmma", "wgmma_stages", "specialised", "wide_tiles",
                                           "persistent", "cluster", "panel_tiles"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace tilescope::operations
