// Narrow products on the GPU at extents around tiles and stages, with k cut for clusters of every
// size, and with rows that the copy engine takes: of the random problems few are such.
#include "operations/gemm/hopper/narrow_tiles.hpp"

#include <fmt/format.h>

#include <array>

#include "cuda/aligned_gemms.hpp"

namespace tilescope::operations {
namespace {

template <int groups, int cluster, int k_boxes>
constexpr GemmVariant cut_for_cluster{.name = "narrow_tiles",
                                      .idea = "",
                                      .source = "gemm/narrow_tiles.cu",
                                      .refusal = narrow_tiles_refusal,
                                      .prepare = [](Device& device, const GemmProblem& problem) {
                                        NarrowTile tile = narrow_tile(problem, device.properties());
                                        tile.groups = groups;
                                        tile.cluster = cluster;
                                        tile.k_boxes = k_boxes;
                                        tile.stages = 2;
                                        return prepare_narrow_tiles(device, problem, tile);
                                      }};

class NarrowTilesOnGpu : public testing::AlignedGemmsOnGpu {
 protected:
  // With the next of the variants.
  void expect_right(const GemmProblem& problem) {
    SCOPED_TRACE(fmt::format("variant {}", number_ % variants.size()));
    AlignedGemmsOnGpu::expect_right(variants[number_++ % variants.size()], problem);
  }

  static constexpr std::array variants{cut_for_cluster<1, 1, 4>, cut_for_cluster<1, 8, 1>,
                                       cut_for_cluster<2, 4, 2>, cut_for_cluster<4, 2, 1>,
                                       cut_for_cluster<1, 2, 2>};
  std::size_t number_ = 0;
};

TEST_F(NarrowTilesOnGpu, ExtentsAroundTilesAndStages) {
  for (const Order a_order : {Order::row_major, Order::column_major}) {
    for (const Order b_order : {Order::row_major, Order::column_major}) {
      for (const MatmulShape& shape : {MatmulShape{16, 300, 1500},
                                       {33, 129, 333},
                                       {64, 520, 1100},
                                       {1, 65, 257},
                                       {500, 48, 650},
                                       {257, 7, 64}}) {
        expect_right(dense_problem(shape, Precision::bf16, DataType::bfloat16, DataType::float32,
                                   a_order, b_order));
      }
    }
  }
  for (const MatmulShape& shape : {MatmulShape{16, 300, 1500}, {500, 48, 650}}) {
    expect_right(dense_problem(shape, Precision::tf32, DataType::float32, DataType::float32,
                               Order::row_major, Order::column_major));
  }
}

TEST_F(NarrowTilesOnGpu, BatchesAndTheEpilogue) {
  for (const MatmulShape& shape : {MatmulShape{20, 270, 600}, {270, 20, 600}}) {
    GemmProblem problem =
        dense_problem(shape, Precision::fp16, DataType::float16, DataType::float16);
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

}  // namespace
}  // namespace tilescope::operations
