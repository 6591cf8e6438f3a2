// Products in tiles on the GPU whose clusters have layers, each with a part of k.
#include <fmt/format.h>

#include <array>

#include "cuda/real_gpu.hpp"
#include "operations/gemm/hopper/tensor_tiles.hpp"
#include "support/gemm_runs.hpp"

namespace tilescope::operations {
namespace {

// The tile of the running test: a variant prepares by a plain function, which cannot carry it.
TensorTile layered_tile;

constexpr GemmVariant layered_variant{.name = "tensor_tiles",
                                      .idea = "",
                                      .source = "gemm/tensor_tiles.cu",
                                      .refusal = tensor_tiles_refusal,
                                      .prepare = [](Device& device, const GemmProblem& problem) {
                                        return prepare_tensor_tiles(device, problem, layered_tile);
                                      }};

class LayersOnGpu : public testing::RealGpu {
 protected:
  void expect_right(const GemmProblem& problem) {
    const testing::GemmCase of = testing::placed_case(generator_, problem, 16);
    const testing::GemmMatrices c = run_gemm(*gpu_, layered_variant, of);
    EXPECT_EQ(testing::defects(of, c, true), "");
    EXPECT_EQ(c.image(), run_gemm(*gpu_, layered_variant, of).image()) << "another run, other bits";
  }

  testing::GemmGenerator generator_{29};
};

TEST_F(LayersOnGpu, AreRightInEveryLayoutAndPrecision) {
  if (auto why = tensor_tiles_refusal(
          dense_problem({64, 64, 512}, Precision::bf16, DataType::bfloat16, DataType::bfloat16),
          gpu_->properties())) {
    GTEST_SKIP() << *why;
  }
  int number = 0;
  for (const char* text : {"64,64,1,8,2,1,8,0,1,0,0,1,2", "64,64,1,8,8,1,8,0,1,0,0,1,8",
                           "128,128,2,5,4,1,8,0,1,0,0,1,4", "64,128,1,6,4,1,8,0,1,0,0,1,2",
                           "64,64,1,6,6,1,8,0,1,0,0,2,3", "128,64,2,6,8,1,8,0,1,0,0,2,2",
                           "256,192,2,3,2,1,8,0,1,0,0,1,2", "192,128,3,4,3,1,8,0,1,0,0,1,3",
                           "64,48,1,8,6,1,8,0,1,0,8,1,6", "128,144,2,4,8,1,8,0,1,0,8,2,2"}) {
    layered_tile = parse_tensor_tile(text);
    const bool is_transposed = layered_tile.transposed;
    for (const MatmulShape& s :
         {MatmulShape{136, 200, 1000}, MatmulShape{136, 72, 520}, MatmulShape{131, 195, 1003}}) {
      // Each form is a kernel of its own: two for each tile and shape.
      ++number;
      for (const int form : {number % 4, (number + 2) % 4}) {
        constexpr std::array precisions{Precision::bf16, Precision::fp16, Precision::tf32};
        const Precision precision = precisions.at(static_cast<std::size_t>(form + s.m) % 3);
        const bool is_odd = s.n % 8 != 0;
        if (is_transposed && (precision == Precision::tf32 || is_odd)) continue;
        SCOPED_TRACE(fmt::format("{} of {} x {} x {} in {}, form {}", text, s.m, s.n, s.k,
                                 name_of(precision), form));
        const Order a = form % 2 == 0 ? Order::row_major : Order::column_major;
        const Order b = form / 2 == 0 ? Order::row_major : Order::column_major;
        GemmProblem problem =
            dense_problem(s, precision, operand_type(precision), operand_type(precision), a, b);
        problem.beta = form == 0 ? 0.0 : -0.5;
        problem.has_bias = form > 1;
        problem.bias_per_row = form == 3;
        problem.activation = form == 2 ? Activation::gelu : Activation::none;
        expect_right(problem);
      }
    }
  }
}

TEST_F(LayersOnGpu, AreRightForBatchesAndEightBits) {
  layered_tile = parse_tensor_tile("128,128,2,4,2,1,8,0,1,0,0,1,2");
  GemmProblem problem =
      dense_problem({72, 136, 520}, Precision::bf16, DataType::bfloat16, DataType::bfloat16);
  if (auto why = tensor_tiles_refusal(problem, gpu_->properties())) GTEST_SKIP() << *why;
  problem.batch = 5;
  expect_right(problem);
  for (const Precision precision : {Precision::fp8_e4m3, Precision::int8}) {
    SCOPED_TRACE(name_of(precision));
    expect_right(dense_problem({200, 264, 1040}, precision, operand_type(precision),
                               usual_result_type(precision)));
  }
}

}  // namespace
}  // namespace tilescope::operations
