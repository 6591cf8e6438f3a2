// Products in tiles on the GPU whose rows of C begin anywhere, blocks that share tiles of A, and
// transposed products.
#include "operations/gemm/hopper/tensor_tiles.hpp"

#include <fmt/format.h>

#include <array>

#include "cuda/real_gpu.hpp"
#include "operations/gemm/hopper/tensor_tile_layout.hpp"
#include "support/gemm_runs.hpp"

namespace tilescope::operations {
namespace {

constexpr std::array tiles{
    TensorTile{.m = 64, .n = 64, .consumers = 1, .stages = 3, .boxes = 1},
    TensorTile{.m = 64, .n = 128, .consumers = 1, .cluster = 2, .boxes = 2},
    TensorTile{.m = 64, .n = 192, .consumers = 1, .stages = 3, .boxes = 3},
    TensorTile{.m = 128, .n = 128, .in_turn = true, .boxes = 2},
    TensorTile{.m = 256, .n = 128, .boxes = 2},
    TensorTile{.m = 128, .n = 256, .stages = 3, .boxes = 2},
    TensorTile{.m = 128, .n = 64, .cluster = 2, .across = 2, .boxes = 1},
    TensorTile{.m = 256, .n = 128, .stages = 3, .cluster = 2, .across = 2, .boxes = 2},
    TensorTile{.m = 256, .n = 64, .cluster = 4, .across = 4, .boxes = 1},
    TensorTile{.m = 128, .n = 256, .stages = 3, .cluster = 8, .across = 2, .boxes = 2},
    TensorTile{.m = 128, .n = 192, .stages = 3, .boxes = 3, .copies_a = true, .copies_b = true},
    TensorTile{.m = 64,
               .n = 144,
               .consumers = 1,
               .stages = 3,
               .cluster = 8,
               .boxes = 1,
               .transposed = true},
    TensorTile{.m = 64,
               .n = 144,
               .consumers = 1,
               .stages = 7,
               .cluster = 4,
               .boxes = 1,
               .transposed = true},
    TensorTile{.m = 64,
               .n = 144,
               .consumers = 1,
               .stages = 7,
               .cluster = 8,
               .across = 4,
               .boxes = 1,
               .transposed = true},
    TensorTile{.m = 128, .n = 176, .boxes = 1},
    TensorTile{.m = 256, .n = 160, .stages = 3, .cluster = 2, .across = 2, .boxes = 1},
    TensorTile{.m = 128, .n = 112, .in_turn = true, .boxes = 2},
    TensorTile{.m = 192, .n = 144, .consumers = 3, .stages = 3, .boxes = 1},
};
constexpr std::size_t first_transposed = 11, first_with_narrow_end = 14;

template <std::size_t number>
constexpr GemmVariant variant{.name = "tensor_tiles",
                              .idea = "",
                              .source = "gemm/tensor_tiles.cu",
                              .refusal = tensor_tiles_refusal,
                              .prepare = [](Device& device, const GemmProblem& problem) {
                                return prepare_tensor_tiles(device, problem, tiles[number]);
                              }};

constexpr std::array variants{variant<0>,  variant<1>,  variant<2>,  variant<3>,  variant<4>,
                              variant<5>,  variant<6>,  variant<7>,  variant<8>,  variant<9>,
                              variant<10>, variant<11>, variant<12>, variant<13>, variant<14>,
                              variant<15>, variant<16>, variant<17>};

class RowsOfCOnGpu : public testing::RealGpu {
 protected:
  // The product by every `step`-th tile, of as many rows as `rows_of_tiles` tiles have, less 3.
  void expect_right(GemmProblem problem, std::size_t step = 1, int rows_of_tiles = 1) {
    for (std::size_t i = step / 2; i < first_transposed; i += step) {
      GemmProblem of_tile = problem;
      of_tile.shape.m = rows_of_tiles * tiles[i].m * tiles[i].cluster - 3;
      of_tile.a.batch_stride = of_tile.shape.m * of_tile.a.leading;
      of_tile.c.batch_stride = (of_tile.shape.m + 3) * of_tile.c.leading;
      ASSERT_EQ(layout_of(of_tile, tiles[i]).store, Store::rows);
      expect_right_by(i, of_tile);
    }
  }

  void expect_right_by(std::size_t tile, const GemmProblem& problem) {
    SCOPED_TRACE(text_of(tiles[tile]));
    const GemmVariant& variant = variants[tile];
    if (auto why = variant.refusal(problem, gpu_->properties())) GTEST_SKIP() << *why;
    const testing::GemmCase of = testing::placed_case(generator_, problem, 16);
    const testing::GemmMatrices c = run_gemm(*gpu_, variant, of);
    EXPECT_EQ(testing::defects(of, c, true), "");
    EXPECT_EQ(c.image(), run_gemm(*gpu_, variant, of).image()) << "another run, other bits";
  }

  testing::GemmGenerator generator_{13};
};

GemmProblem product(std::int64_t n, std::int64_t k, Precision precision = Precision::bf16) {
  return dense_problem({1, n, k}, precision, operand_type(precision), operand_type(precision));
}

TEST_F(RowsOfCOnGpu, EveryBeginAndEnd) {
  // Rows that begin in 8, 4 and 2 ways; ends before, in and behind a tile's last chunk.
  for (const std::int64_t n : {65, 127, 129, 131, 134, 260, 263}) expect_right(product(n, 72));
}

TEST_F(RowsOfCOnGpu, GapsBetweenRows) {
  GemmProblem problem = product(131, 67, Precision::fp16);
  for (const std::int64_t leading : {136, 140, 151}) {
    problem.c.leading = leading;
    expect_right(problem, 2);
  }
  problem.c.type = DataType::float32;
  expect_right(problem, 2);
}

TEST_F(RowsOfCOnGpu, BatchesAndTheEpilogue) {
  GemmProblem problem = product(135, 41);
  problem.batch = 3;
  problem.alpha = -1.75;
  problem.has_bias = true;
  problem.activation = Activation::gelu;
  expect_right(problem, 2);
  problem.bias_per_row = true;
  problem.activation = Activation::relu;
  problem.b.order = Order::column_major;
  problem.b.leading = 41;
  expect_right(problem, 2);
}

TEST_F(RowsOfCOnGpu, RowsOfAByClasses) {
  const GemmProblem problem = product(129, 33);
  constexpr int tiles_of_classes = 64;  // eight of each
  expect_right(problem, 2, tiles_of_classes);
}

// An odd number of columns of tiles leaves the last one to blocks that share nothing. The last tile
// copies operands that it could read.
TEST_F(RowsOfCOnGpu, BlocksSideBySideAndCopies) {
  for (const std::size_t tile : {6, 7, 8, 9, 10}) {
    for (const std::int64_t m : {100, 300}) {
      for (const std::int64_t n : {64, 136, 200}) {
        GemmProblem problem = product(n, 136);
        problem.shape.m = m;
        problem.a.batch_stride = m * problem.a.leading;
        problem.c.batch_stride = m * problem.c.leading;
        expect_right_by(tile, problem);
        problem.batch = 3;
        problem.a.order = Order::column_major;
        problem.a.leading = (m + 7) / 8 * 8;
        problem.a.batch_stride = problem.shape.k * problem.a.leading;
        expect_right_by(tile, problem);
      }
    }
  }
}

// C^T = B^T A^T: one tile a block, and several with a copied A.
TEST_F(RowsOfCOnGpu, TransposedProducts) {
  const auto transposed = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    GemmProblem problem = product(n, k);
    problem.shape.m = m;
    problem.a.batch_stride = m * problem.a.leading;
    problem.c.batch_stride = m * problem.c.leading;
    return problem;
  };
  expect_right_by(first_transposed, transposed(300, 520, 264));
  expect_right_by(first_transposed, transposed(1700, 1032, 67));
  expect_right_by(first_transposed + 2, transposed(300, 520, 264));
  expect_right_by(first_transposed + 2, transposed(1700, 1032, 67));
  GemmProblem problem = transposed(100, 520, 136);
  problem.batch = 3;
  problem.alpha = -1.75;
  problem.has_bias = true;
  problem.activation = Activation::gelu;
  expect_right_by(first_transposed, problem);
  problem.bias_per_row = true;
  problem.activation = Activation::relu;
  problem.b.order = Order::column_major;
  problem.b.leading = problem.shape.k;
  expect_right_by(first_transposed + 1, problem);
}

// The last box of a tile of C is narrow, and leaves by a map of its own, or row by row. A test for
// each tile, as each compiles nine kernels.
class NarrowEndsOnGpu : public RowsOfCOnGpu, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(NarrowEndsOnGpu, AreRight) {
  for (const std::int64_t n : {104, 359, 488}) {
    GemmProblem problem = product(n, 136);
    problem.shape.m = 300;
    problem.batch = 2;
    problem.a.batch_stride = problem.shape.m * problem.a.leading;
    problem.b.batch_stride = problem.shape.k * problem.b.leading;
    problem.c.batch_stride = problem.shape.m * problem.c.leading;
    expect_right_by(GetParam(), problem);
    problem.beta = -0.5;
    problem.has_bias = true;
    problem.b.order = Order::column_major;
    problem.b.leading = problem.shape.k;
    problem.b.batch_stride = n * problem.b.leading;
    expect_right_by(GetParam(), problem);
    problem.c.type = DataType::float32;
    problem.bias_per_row = true;
    expect_right_by(GetParam(), problem);
  }
}

INSTANTIATE_TEST_SUITE_P(Tiles, NarrowEndsOnGpu,
                         ::testing::Range(first_with_narrow_end, tiles.size()));

}  // namespace
}  // namespace tilescope::operations
