// Products on tensor cores: the tiles and layouts of problems, and their launches.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "operations/gemm/dispatch/gemm_variants.hpp"
#include "operations/gemm/dispatch/plan_recorder.hpp"
#include "operations/gemm/dispatch/variant_plans.hpp"
#include "operations/gemm/hopper/tensor_tile_choice.hpp"
#include "operations/gemm/hopper/tensor_tile_layout.hpp"
#include "operations/gemm/hopper/tensor_tile_network.hpp"
#include "operations/gemm/hopper/tensor_tiles.hpp"
#include "operations/gemm/product/memory_product.hpp"
#include "support/gemm_kernels.hpp"
#include "support/tensor_products.hpp"

namespace tilescope::operations {
namespace {

using ::testing::HasSubstr;
using testing::hopper;
using testing::tensor_product;

TensorTile best_tensor_tile(const GemmProblem& problem) {
  return tensor_tile_candidates(problem, hopper()).front();
}

// The model's choice, before the network ranks its first tiles once more.
TensorTile best_by_model(const GemmProblem& problem) {
  const auto cycles = [&problem](const TensorTile& tile) {
    return timed_features(problem, tile, hopper().sm_count).cycles;
  };
  const std::vector<TensorTile> tiles = tensor_tile_candidates(problem, hopper());
  return *std::min_element(tiles.begin(), tiles.end(), [&](const auto& one, const auto& other) {
    return cycles(one) < cycles(other);
  });
}

TEST(TensorTiles, EveryCandidateFitsTheChip) {
  for (const MatmulShape s :
       {MatmulShape{1, 1, 1}, MatmulShape{16, 8192, 8192}, MatmulShape{4095, 4097, 4099},
        MatmulShape{8192, 8192, 256}, MatmulShape{256, 256, 65536}, MatmulShape{99, 8192, 64},
        MatmulShape{1000, 1000, 1000}}) {
    const GemmProblem problem = tensor_product(s.m, s.n, s.k);
    for (const TensorTile& tile : tensor_tile_candidates(problem, hopper())) {
      SCOPED_TRACE(text_of(tile));
      const TileLayout layout = layout_of(problem_of(tile, problem), tile);
      EXPECT_LE(shared_bytes_of(tile, layout, problem.c.type),
                hopper().shared_bytes_per_block_optin);
      EXPECT_GE(tile.stages, 2);
      EXPECT_LE(tile.m / (tile.in_turn ? 1 : tile.consumers) * tile.n, 128 * 192)
          << "sums of a warpgroup";
    }
  }
}

TEST(TensorTiles, HaveLayersWhereCHasFewAndKMany) {
  EXPECT_GT(best_tensor_tile(tensor_product(256, 512, 4096)).layers, 1);
  EXPECT_GT(best_tensor_tile(tensor_product(120, 1000, 2048)).layers, 1);
  for (const MatmulShape s :
       {MatmulShape{256, 512, 64}, MatmulShape{4096, 4096, 4096}, MatmulShape{2048, 2048, 512}}) {
    EXPECT_EQ(best_tensor_tile(tensor_product(s.m, s.n, s.k)).layers, 1) << s.m;
  }
}

TEST(TensorTiles, LayersFindRoomForTheSumsThatTheyReceive) {
  const GemmProblem problem = tensor_product(256, 512, 4096);
  int layered = 0;
  for (const TensorTile& tile : tensor_tile_candidates(problem, hopper())) {
    if (tile.layers == 1) continue;
    ++layered;
    SCOPED_TRACE(text_of(tile));
    EXPECT_TRUE(received_fits(tile, layout_of(problem_of(tile, problem), tile), problem.c.type));
    EXPECT_EQ(tile.in_layer() * tile.layers, tile.cluster);
    EXPECT_EQ(tile.splits, 1);
    EXPECT_FALSE(tile.in_turn);
  }
  EXPECT_GT(layered, 20);
  // Two layers of 128 x 128 in boxes of 64 x 64 receive half a tile, four layers three quarters.
  TensorTile tile{.m = 128, .n = 128, .stages = 2, .cluster = 2, .layers = 2, .boxes = 1};
  EXPECT_EQ(received_sums(tile, DataType::bfloat16), 128 * 64);
  tile.cluster = tile.layers = 4;
  EXPECT_EQ(received_sums(tile, DataType::bfloat16), 3 * 64 * 64);
  tile.boxes = 2;  // too few to share out
  EXPECT_EQ(received_sums(tile, DataType::bfloat16), 3 * 64 * 128);
}

TEST(TensorTiles, SumsThatArePromotedAreNotTakenInTurn) {
  GemmProblem problem = tensor_product(2048, 2048, 2048, Precision::fp8_e4m3);
  problem.c.type = DataType::bfloat16;
  const std::vector<TensorTile> tiles = tensor_tile_candidates(problem, hopper());
  EXPECT_TRUE(std::any_of(tiles.begin(), tiles.end(),
                          [](const TensorTile& tile) { return tile.transposed; }));
  for (const TensorTile& tile : tiles) EXPECT_FALSE(tile.in_turn) << text_of(tile);
}

TEST(TensorTiles, AreReadFromText) {
  const TensorTile shared{.m = 256,
                          .n = 128,
                          .consumers = 2,
                          .stages = 3,
                          .cluster = 2,
                          .splits = 4,
                          .group = 16,
                          .in_turn = false,
                          .boxes = 1};
  EXPECT_EQ(parse_tensor_tile("256,128,2,3,2,4,16,0,1"), shared);
  const TensorTile panel = parse_tensor_tile("64,256,2,8,1,1,8,1,2,4");
  EXPECT_TRUE(panel.in_turn);
  EXPECT_EQ(panel.panel, 4);
  EXPECT_THAT(text_of(panel), HasSubstr("panel 4"));
  const TensorTile across = parse_tensor_tile("128,64,2,8,8,1,8,0,1,0,0,4");
  EXPECT_EQ(across.across, 4);
  EXPECT_EQ(across.down(), 2);
  EXPECT_FALSE(across.copies_a || across.copies_b);
  const TensorTile copying = parse_tensor_tile("128,192,2,4,1,1,8,0,3,0,6");
  EXPECT_EQ(copying.across, 1);
  EXPECT_TRUE(copying.copies_a && copying.copies_b);
  EXPECT_TRUE(layout_of(tensor_product(3000, 3000, 3000), copying).b.repacked);
  EXPECT_THAT(text_of(across), HasSubstr("cluster 2x4"));
  const TensorTile transposed = parse_tensor_tile("64,144,1,7,8,1,8,0,1,0,8");
  EXPECT_TRUE(transposed.transposed);
  EXPECT_FALSE(transposed.copies_a || transposed.copies_b);
  EXPECT_THAT(text_of(transposed), HasSubstr("transposed"));
  const TensorTile layered = parse_tensor_tile("64,64,1,8,6,1,8,0,1,0,0,2,3");
  EXPECT_EQ(layered.layers, 3);
  EXPECT_EQ(layered.down(), 1);
  EXPECT_THAT(text_of(layered), HasSubstr("cluster 1x2 layers 3"));
  for (const char* text : {"64,64,1,8,4,1,8,0,1,0,0,1,3", "64,64,1,8,16,1,8,0,1", "", "256,128",
                           "256,128,2,3,2,4,16,0,1,", "256,128,2,3,2,4,16,0,1,2,3,1",
                           "256,128,2,3,2,4,16,0,1 ", "256,128,2,3,2,1,8,0,1,0,0,4"}) {
    EXPECT_THROW(parse_tensor_tile(text), Error) << text;
  }
}

TEST(TensorTiles, APanelOfBStaysWhereKIsShort) {
  EXPECT_EQ(best_tensor_tile(tensor_product(8192, 8192, 256)).panel, 4);
  EXPECT_EQ(best_tensor_tile(tensor_product(8192, 8192, 200)).panel, 4);
  EXPECT_EQ(best_tensor_tile(tensor_product(8192, 8192, 100)).panel, 2);
  EXPECT_EQ(best_tensor_tile(tensor_product(8192, 8192, 128, Precision::tf32)).panel, 4);
  EXPECT_EQ(best_tensor_tile(tensor_product(8192, 8192, 257)).panel, 0);
  EXPECT_EQ(best_tensor_tile(tensor_product(8192, 8192, 8192)).panel, 0);
  EXPECT_FALSE(best_panel_tile(tensor_product(8192, 8192, 257), hopper()));
  EXPECT_FALSE(best_panel_tile(tensor_product(16, 16, std::int64_t{1} << 40), hopper()));
}

TEST(TensorTiles, TakeTurnsWhereStoresAreMuchOfTheTime) {
  EXPECT_TRUE(best_tensor_tile(tensor_product(4096, 4096, 512)).in_turn);
  EXPECT_TRUE(best_tensor_tile(tensor_product(8192, 8192, 1024)).in_turn);
  EXPECT_FALSE(best_tensor_tile(tensor_product(4096, 4096, 4096)).in_turn);
  EXPECT_FALSE(best_by_model(tensor_product(8192, 8192, 8192)).in_turn);
}

TEST(TensorTiles, AreHighWhereAAndBAreFarLargerThanTheCache) {
  EXPECT_EQ(best_by_model(tensor_product(8192, 8192, 8192)).m, 256);
  EXPECT_EQ(best_tensor_tile(tensor_product(16384, 16384, 16384)).m, 256);
  EXPECT_EQ(best_tensor_tile(tensor_product(16384, 16384, 32768)).m, 256);
}

TEST(TensorTiles, RowsThatBeginInALineAreCopiedWhereItPays) {
  const std::vector<TensorTile> tiles =
      tensor_tile_candidates(tensor_product(3304, 520, 5784), hopper());
  EXPECT_TRUE(std::any_of(tiles.begin(), tiles.end(),
                          [](const TensorTile& tile) { return tile.copies_b; }));
  for (const std::int64_t extent : {1000, 3000, 4000, 4096, 5000}) {
    const TensorTile tile = best_tensor_tile(tensor_product(extent, extent, extent));
    EXPECT_FALSE(tile.copies_a || tile.copies_b) << extent;
  }
}

TEST(TensorTiles, ShareAWhereItsRowsBeginAnywhere) {
  const GemmProblem odd = tensor_product(4095, 4097, 4099);
  EXPECT_GT(best_tensor_tile(odd).across, 1);
  EXPECT_TRUE(layout_of(odd, best_tensor_tile(odd)).a_begins_anywhere);
  EXPECT_EQ(best_tensor_tile(tensor_product(4096, 4096, 4096)).across, 1);
}

TEST(TensorTiles, HaveAWidthThatFillsTheChipOnceWhereRowsBeginWithinLines) {
  GemmProblem problem = tensor_product(1000, 1000, 1000);
  const auto fills_once = [&] {
    const TensorTile tile = best_by_model(problem);
    return tile.n == 144 && tile.cluster == 8;
  };
  EXPECT_TRUE(fills_once());
  EXPECT_TRUE(best_tensor_tile(problem).transposed) << "B's rows come in boxes of 64";
  EXPECT_FALSE(best_tensor_tile(tensor_product(1024, 1024, 1024)).transposed);
  EXPECT_FALSE(best_tensor_tile(tensor_product(1000, 1000, 1000, Precision::tf32)).transposed);
  EXPECT_FALSE(best_tensor_tile(tensor_product(1000, 1001, 1000)).transposed)
      << "rows of C begin anywhere";
  problem.b.order = Order::column_major;
  EXPECT_TRUE(fills_once());
  problem.beta = 1.0;
  EXPECT_TRUE(fills_once());
  problem.beta = 0.0;
  problem.c.type = DataType::float32;
  EXPECT_FALSE(best_tensor_tile(problem).transposed);
}

// 3,520 rows of A that lie along m, in boxes of 64, and rows of B along k, any number of them.
TEST(TensorTiles, AreAsWideAsDividesC) {
  GemmProblem problem = tensor_product(3520, 7184, 2392);
  problem.a.order = problem.b.order = Order::column_major;
  problem.a.leading = 3520;
  problem.b.leading = 2392;
  const TensorTile tile = best_tensor_tile(problem);
  EXPECT_FALSE(tile.transposed);
  EXPECT_NE(tile.n % 64, 0) << text_of(tile);
  for (const TensorTile& one : tensor_tile_candidates(problem, hopper())) {
    EXPECT_EQ(one.n % 16, 0);
    if (one.n % 64 != 0 && !one.transposed) {
      EXPECT_EQ(one.layers, 1) << text_of(one);
    }
  }
  // Where threads fetch what C holds, registers suffice for fewer sums.
  problem = tensor_product(3520, 7183, 2392);
  problem.beta = 1.0;
  for (const TensorTile& one : tensor_tile_candidates(problem, hopper())) {
    const bool is_large = one.m * one.n > (one.consumers == 3 ? 192 * 128 : 256 * 128);
    if (one.n % 64 != 0) {
      EXPECT_FALSE(is_large) << text_of(one);
    }
  }
}

TEST(TensorTiles, TransposedLoadWholeBoxesOfColumns) {
  GemmProblem problem = tensor_product(1000, 1000, 1000);
  const TensorTile tile{.m = 64, .n = 144, .consumers = 1, .boxes = 2, .transposed = true};
  const auto columns = [&] {
    return columns_of_b(tile, layout_of(problem_of(tile, problem), tile));
  };
  EXPECT_EQ(columns(), 144);
  problem.a.order = Order::column_major;
  EXPECT_EQ(columns(), 192);
}

TEST(TensorTiles, TransposedExchangeAAndB) {
  GemmProblem problem = tensor_product(100, 200, 300);
  problem.has_bias = true;
  EXPECT_EQ(problem_of(TensorTile{}, problem).shape, problem.shape);
  const TensorTile tile{.m = 64, .n = 144, .consumers = 1, .cluster = 8, .transposed = true};
  const GemmProblem transposed = problem_of(tile, problem);
  EXPECT_EQ(transposed.shape, (MatmulShape{200, 100, 300}));
  EXPECT_EQ(transposed.a.order, Order::column_major);
  EXPECT_EQ(transposed.a.leading, 200);
  EXPECT_EQ(transposed.b.leading, 300);
  EXPECT_TRUE(transposed.bias_per_row);
  EXPECT_EQ(rows_of_c(transposed, tile).rows, 100);
  EXPECT_EQ(rows_of_c(transposed, tile).columns, 200);
  const TileLayout layout = layout_of(transposed, tile);
  EXPECT_TRUE(layout.a.mn_major);
  EXPECT_FALSE(layout.b.mn_major);
  EXPECT_EQ(layout.store, Store::boxed);
}

TEST(TensorTiles, AGridNumbersTheTilesOfBlocksThatHaveOne) {
  const auto last = [](const GemmProblem& problem) {
    return recorded_plan(gemm_variant("tensor_tiles"), problem, hopper()).steps.back();
  };
  const Step transposed = last(tensor_product(1000, 1000, 1000));
  EXPECT_EQ(transposed.launch.grid, (Dim3{16, 7}));
  EXPECT_EQ(transposed.launch.cluster, (Dim3{8}));
  GemmProblem batches = tensor_product(256, 256, 256);
  batches.batch = 3;
  const Step batch = last(batches);
  EXPECT_EQ(batch.launch.grid.z, 3);
  for (const Step& step : {transposed, batch}) EXPECT_EQ(testing::constant(step, "ONE_TILE"), "1");
  EXPECT_EQ(testing::constant(last(tensor_product(8192, 8192, 8192)), "ONE_TILE"), "0");
}

TEST(TensorTiles, AGridOfRectanglesHasTheirShape) {
  const GemmVariant variant{.name = "rectangle",
                            .idea = "",
                            .source = "",
                            .refusal = nullptr,
                            .prepare = [](Device& device, const GemmProblem& problem) {
                              const TensorTile rectangle{.m = 64,
                                                         .n = 176,
                                                         .consumers = 1,
                                                         .stages = 6,
                                                         .cluster = 8,
                                                         .across = 2,
                                                         .boxes = 2,
                                                         .transposed = true};
                              return prepare_tensor_tiles(device, problem, rectangle);
                            }};
  const Step step = recorded_plan(variant, tensor_product(1000, 1000, 1000), hopper()).steps.back();
  EXPECT_EQ(step.launch.grid, (Dim3{16, 6}));
  EXPECT_EQ(step.launch.cluster, (Dim3{4, 2}));
}

// A block without a tile would copy for nobody, and wait forever.
TEST(TensorTiles, NoClusterIsWithoutATile) {
  const GemmVariant variant{.name = "pair",
                            .idea = "",
                            .source = "",
                            .refusal = nullptr,
                            .prepare = [](Device& device, const GemmProblem& problem) {
                              const TensorTile pair{.m = 128,
                                                    .n = 144,
                                                    .stages = 5,
                                                    .cluster = 2,
                                                    .across = 2,
                                                    .boxes = 2,
                                                    .transposed = true};
                              return prepare_tensor_tiles(device, problem, pair);
                            }};
  // 42 x 3 tiles: 42 pairs side by side, and 21 in the last column.
  const Step odd = recorded_plan(variant, tensor_product(416, 5264, 456), hopper()).steps.back();
  EXPECT_EQ(odd.launch.grid, Dim3{2 * 63});
  EXPECT_EQ(odd.launch.cluster, Dim3{2});
  const Step one = recorded_plan(variant, tensor_product(416, 1264, 456), hopper()).steps.back();
  EXPECT_EQ(one.launch.grid, (Dim3{10, 4}));
  EXPECT_EQ(one.launch.cluster, (Dim3{1, 2}));
}

TEST(TensorTiles, StoreByTheCopyEngineWhereRowsOfCAreWholeChunks) {
  const auto store = [](const GemmProblem& problem, const TensorTile& tile) {
    return layout_of(problem, tile).store;
  };
  GemmProblem problem = tensor_product(4096, 4096, 4095);
  EXPECT_EQ(store(problem, {}), Store::boxed);
  EXPECT_EQ(store(problem, {.splits = 2}), Store::partial);
  problem.beta = 1.0;
  EXPECT_EQ(store(problem, {}), Store::boxed) << "C arrives in the boxes that it leaves from";
  EXPECT_EQ(store(problem, {.m = 64, .n = 256, .panel = 4}), Store::boxed);
  EXPECT_EQ(store(tensor_product(4096, 4095, 4096), {}), Store::rows);
  EXPECT_EQ(store(tensor_product(4096, 4095, 4096), {.m = 64, .n = 256, .panel = 4}), Store::rows);
  problem = tensor_product(100, 1001, 1000);
  problem.c.leading = 1008;
  EXPECT_EQ(store(problem, {}), Store::rows) << "a box would write into the gap";
}

TEST(TensorTiles, TheirPanelIsAllOfKOrRefused) {
  GemmProblem problem = tensor_product(512, 512, 256);
  EXPECT_EQ(panel_tiles_refusal(problem, hopper()), std::nullopt);
  EXPECT_THAT(panel_tiles_refusal(tensor_product(512, 512, 320), hopper()).value_or(""),
              HasSubstr("k is 320"));
  EXPECT_THAT(panel_tiles_refusal(tensor_product(512, 512, 0), hopper()).value_or(""),
              HasSubstr("nothing"));
  EXPECT_THAT(panel_tiles_refusal(problem, testing::a100()).value_or(""), HasSubstr("9.0"));
}

TEST(TensorTiles, RowsOfAByClassesAreNotForPanels) {
  const GemmProblem odd = tensor_product(65536, 8192, 255);
  EXPECT_EQ(layout_of(odd, TensorTile{.m = 64}).classes, 8);
  const TileLayout layout = layout_of(odd, TensorTile{.m = 64, .panel = 4});
  EXPECT_EQ(layout.classes, 1);
  EXPECT_TRUE(layout.a.repacked);
}

TEST(TensorTiles, PanelsAreWalkedInEqualRanges) {
  struct Expected {
    MatmulShape shape;
    std::uint32_t blocks;
  };
  for (const Expected& expected : {Expected{{8192, 8192, 256}, 128},
                                   {{64 * 133, 256, 64}, 67},
                                   {{64 * 132, 256, 64}, 132},
                                   {{3, 5, 7}, 1}}) {
    const MatmulShape& s = expected.shape;
    const Plan plan =
        recorded_plan(gemm_variant("panel_tiles"), tensor_product(s.m, s.n, s.k), hopper());
    const Launch& launch = plan.steps.back().launch;
    EXPECT_EQ(launch.grid, Dim3{expected.blocks}) << s.m;
    EXPECT_EQ(launch.block, Dim3{384});
    EXPECT_LE(launch.shared_bytes, hopper().shared_bytes_per_block_optin);
  }
}

// Tiles differ, bits do not: each part has the tile that suits its shape.
TEST(TensorTiles, PartsTakeTheFastestPlanThatAddsAlike) {
  const auto cycles_of = [](const DeviceChoice& choice) {
    for (const GemmPlan& plan : tensor_tiles_plans(choice.problem, hopper())) {
      if (plan.text == choice.kernel.plan) return plan.cycles;
    }
    return 0.0;
  };
  const GemmProblem whole = tensor_product(8192, 8192, 8192),
                    half = tensor_product(4096, 8192, 8192);
  DeviceChoice choice{.kernel = {.variant = find_gemm_variant("tensor_tiles")}, .problem = whole};
  choice.kernel.plan = tensor_tiles_plans(whole, hopper()).front().text;
  const auto of_half = choose_alike(choice, half, hopper());
  ASSERT_TRUE(of_half);
  EXPECT_EQ(of_half->kernel.plan, tensor_tiles_plans(half, hopper()).front().text);
  EXPECT_LE(cycles_of(*of_half), cycles_of({choice.kernel, half}));

  // The whole keeps its plan, which may have been tuned.
  choice.kernel.plan = tensor_tiles_plans(whole, hopper()).at(1).text;
  const auto of_whole = choose_alike(choice, whole, hopper());
  ASSERT_TRUE(of_whole);
  EXPECT_EQ(of_whole->kernel.plan, choice.kernel.plan);

  // Sums that are cut along k stay so, and what does not fit is passed over.
  choice.problem = tensor_product(256, 256, 65536);
  const auto plan_cut_in = [&](std::string_view splits) {
    for (const GemmPlan& plan : tensor_tiles_plans(choice.problem, hopper())) {
      if (plan.order == splits) return plan.text;
    }
    return std::string();
  };
  const GemmProblem part = tensor_product(128, 256, 65536);
  choice.kernel.plan = plan_cut_in("splits 16 layers 1");
  const auto of_part = choose_alike(choice, part, hopper());
  ASSERT_TRUE(of_part);
  EXPECT_THAT(of_part->kernel.plan, HasSubstr("splits 16 "));
  const auto other = choose_alike(choice, part, hopper(), [&](const DeviceChoice& one) {
    return one.kernel.plan != of_part->kernel.plan;
  });
  ASSERT_TRUE(other);
  EXPECT_THAT(other->kernel.plan, HasSubstr("splits 16 "));
  EXPECT_LE(cycles_of(*of_part), cycles_of(*other));
  choice.kernel.plan = plan_cut_in("splits 4 layers 1");
  EXPECT_FALSE(choose_alike(choice, part, hopper())) << "it would be cut in 8 at least";
}

}  // namespace
}  // namespace tilescope::operations
