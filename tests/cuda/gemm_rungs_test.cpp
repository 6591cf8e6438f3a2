// The rungs on Hopper's tensor cores at extents around their tiles and their steps along k, with
// rows that the copy engine takes: of the random problems few are such.
#include "cuda/aligned_gemms.hpp"

namespace tilescope::operations {
namespace {

class GemmRungsOnGpu : public testing::AlignedGemmsOnGpu,
                       public ::testing::WithParamInterface<const char*> {
 protected:
  void expect_right(const GemmProblem& problem) {
    AlignedGemmsOnGpu::expect_right(gemm_variant(GetParam()), problem);
  }
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

// Operands of 8 bits, which the kernels without a producer refuse.
TEST_P(GemmRungsOnGpu, OperandsOf8Bits) {
  for (const Precision precision : {Precision::fp8_e4m3, Precision::fp8_e5m2, Precision::int8}) {
    for (const MatmulShape& shape : {MatmulShape{128, 256, 256},
                                     {65, 129, 65},
                                     {1, 1, 1},
                                     {300, 500, 333},
                                     {1100, 8, 4000},
                                     {2100, 2064, 272}}) {
      const GemmProblem problem =
          dense_problem(shape, precision, operand_type(precision), usual_result_type(precision),
                        Order::row_major, Order::column_major);
      if (gemm_variant(GetParam()).refusal(problem, gpu_->properties())) continue;
      expect_right(problem);
    }
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
