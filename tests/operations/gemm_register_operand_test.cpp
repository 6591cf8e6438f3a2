// Products with B in registers: which tiles and layouts problems get, and that they compile.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "device/emulated/emulated_device.hpp"
#include "operations/gemm/hopper/register_operand.hpp"
#include "operations/gemm/hopper/register_tile_network.hpp"
#include "operations/gemm/hopper/tensor_tile_choice.hpp"
#include "operations/gemm/hopper/tensor_tile_network.hpp"
#include "operations/gemm/hopper/tensor_tiles.hpp"
#include "support/gemm_kernels.hpp"
#include "support/gemm_runs.hpp"
#include "support/launch_findings.hpp"

namespace tilescope::operations {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::hopper;
using ::testing::Not;
using ::testing::StartsWith;

GemmProblem tf32_product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return dense_problem({m, n, k}, Precision::tf32, DataType::float32, DataType::float32);
}

RegisterTile best_register_tile(const GemmProblem& problem) {
  return register_tile_candidates(problem, hopper()).front();
}

TEST(RegisterTiles, EveryCandidateFitsTheChip) {
  for (const MatmulShape s : {MatmulShape{1, 1, 1}, MatmulShape{16, 8192, 8192},
                              MatmulShape{4095, 4097, 4099}, MatmulShape{127, 8190, 4001},
                              MatmulShape{256, 256, 65536}, MatmulShape{8192, 8192, 8192}}) {
    const GemmProblem problem = tf32_product(s.m, s.n, s.k);
    for (const RegisterTile& tile : register_tile_candidates(problem, hopper())) {
      SCOPED_TRACE(text_of(tile));
      EXPECT_LE(shared_bytes_of(tile, layout_of(problem, tile)),
                hopper().shared_bytes_per_block_optin);
      EXPECT_GE(tile.stages, 3);
      EXPECT_LE(tile.m * tile.products, 256) << "sums of a thread";
    }
  }
}

TEST(RegisterTiles, ThinProductsTakeThinTiles) {
  EXPECT_EQ(best_register_tile(tf32_product(16, 8192, 8192)).m, 16);
  EXPECT_EQ(best_register_tile(tf32_product(10, 8190, 4001)).m, 16);
  EXPECT_GE(best_register_tile(tf32_product(8192, 8192, 8192)).m, 128);
}

TEST(RegisterTiles, KIsCutWhereTilesAreFewerThanSms) {
  EXPECT_EQ(best_register_tile(tf32_product(8192, 8192, 8192)).splits, 1);
  EXPECT_GT(best_register_tile(tf32_product(256, 256, 65536)).splits, 8);
}

TEST(RegisterTiles, OddProductsTakeWhatWasFastest) {
  const auto taken = [](const GemmProblem& problem) {
    const RegisterTile tile = best_register_tile(problem);
    return fmt::format("{}, A {}", text_of(tile), tile.a_by_class ? "by class" : "copied");
  };
  EXPECT_THAT(text_of(best_register_tile(tf32_product(1000, 1000, 1000))), StartsWith("64x128x"));
  EXPECT_EQ(best_register_tile(tf32_product(1000, 1000, 1000)).pair, RegisterPair::shares_b);
  EXPECT_TRUE(best_register_tile(tf32_product(1000, 1000, 1000)).a_by_class);
  EXPECT_EQ(best_register_tile(tf32_product(1024, 1024, 1024)).pair, RegisterPair::none);
  EXPECT_EQ(text_of(best_register_tile(tf32_product(1023, 1023, 1023))), "64x128x7 shares B");
  EXPECT_EQ(text_of(best_register_tile(tf32_product(127, 8190, 4001))), "128x128x4 shares C");
  EXPECT_TRUE(best_register_tile(tf32_product(1023, 1023, 1023)).a_by_class);
  EXPECT_FALSE(best_register_tile(tf32_product(127, 8190, 4001)).a_by_class);
  EXPECT_EQ(taken(tf32_product(4095, 4097, 4099)), "256x128x4 shares B, A by class");
  EXPECT_EQ(best_register_tile(tf32_product(8191, 8191, 8191)).pair, RegisterPair::shares_a);
  EXPECT_TRUE(best_register_tile(tf32_product(8191, 8191, 8191)).a_by_class);
}

TEST(RegisterTiles, NoPairWithoutWorkForBothBlocks) {
  for (const RegisterTile& tile : register_tile_candidates(tf32_product(64, 128, 32), hopper())) {
    EXPECT_EQ(tile.pair, RegisterPair::none) << text_of(tile);
  }
  for (const RegisterTile& tile :
       register_tile_candidates(tf32_product(8192, 8192, 8192), hopper())) {
    EXPECT_TRUE(tile.pair != RegisterPair::shares_c || tile.splits == 1) << text_of(tile);
  }
}

TEST(RegisterLayout, RowsThatBeginAnywhereAreReadByClassOrCopied) {
  const auto taken = [](const GemmProblem& problem, bool a_by_class) {
    const RegisterLayout layout = layout_of(problem, {.a_by_class = a_by_class});
    return fmt::format("A {}{} B {}{}", layout.a_classes, layout.repacks_a ? " copied" : "",
                       layout.b_classes, layout.repacks_b ? " copied" : "");
  };
  EXPECT_EQ(taken(tf32_product(511, 512, 512), false), "A 1 B 1");
  EXPECT_EQ(taken(tf32_product(511, 512, 512), true), "A 1 B 1");
  EXPECT_EQ(taken(tf32_product(512, 510, 512), false), "A 1 B 4");
  EXPECT_EQ(taken(tf32_product(512, 511, 509), false), "A 1 copied B 4");
  EXPECT_EQ(taken(tf32_product(512, 511, 509), true), "A 8 B 4");
  EXPECT_EQ(taken(tf32_product(512, 511, 3), true), "A 8 B 1 copied") << "fewer rows than classes";
  EXPECT_EQ(taken(tf32_product(512, 512, 1000), false), "A 1 B 1");
  EXPECT_EQ(taken(tf32_product(512, 512, 1000), true), "A 4 B 1") << "cache lines";
  EXPECT_EQ(taken(tf32_product(512, 512, 1020), true), "A 2 B 1") << "sectors";
  GemmProblem padded = tf32_product(512, 511, 512);
  padded.b.leading = 512;
  EXPECT_EQ(taken(padded, false), "A 1 B 1");
  padded.batch = 2;
  padded.b.batch_stride = 512 * 512 + 2;
  EXPECT_EQ(taken(padded, false), "A 1 B 1 copied") << "planes that begin anywhere";
}

TEST(RegisterLayout, ClassesOfABeginWithSectorsOrLines) {
  const auto shifts = [](std::int64_t k) {
    const RegisterLayout layout = layout_of(tf32_product(512, 512, k), {.a_by_class = true});
    std::vector<int> of_classes;
    for (int c = 0; c < layout.a_classes; ++c) of_classes.push_back(a_shift_of(layout, c));
    return of_classes;
  };
  EXPECT_THAT(shifts(1000), ElementsAre(0, 8, 16, 24));
  EXPECT_THAT(shifts(1016), ElementsAre(0, 24, 16, 8));
  EXPECT_THAT(shifts(1008), ElementsAre(0, 16));
  EXPECT_THAT(shifts(1020), ElementsAre(0, 4));
  EXPECT_THAT(shifts(1022), ElementsAre(0, 6, 4, 2));
  EXPECT_THAT(shifts(1023), ElementsAre(0, 7, 6, 5, 4, 3, 2, 1));
  EXPECT_THAT(shifts(1024), ElementsAre(0));
}

TEST(RegisterLayout, TilesOfKHoldWhatClassesBeginEarlyBy) {
  const auto tiles = [](std::int64_t k, bool a_by_class) {
    const GemmProblem problem = tf32_product(512, 512, k);
    return k_tiles_of(problem, layout_of(problem, {.a_by_class = a_by_class}));
  };
  EXPECT_EQ(tiles(992, true), 31);
  EXPECT_EQ(tiles(1000, false), 32);
  EXPECT_EQ(tiles(1000, true), 32);
  EXPECT_EQ(tiles(1016, false), 32);
  EXPECT_EQ(tiles(1016, true), 33);
  EXPECT_EQ(tiles(1017, true), 32);
  EXPECT_EQ(tiles(1019, true), 32) << "what sectors push beyond tile 31 stands in tile 0";
  EXPECT_EQ(tiles(1023, true), 32);
  EXPECT_EQ(tiles(1024 + 1, true), 33);
}

TEST(RegisterLayout, NeighboursAreStoredAtOnceWhereCIsAligned) {
  GemmProblem problem = tf32_product(64, 510, 64);
  EXPECT_TRUE(layout_of(problem, {.products = 1}).c_is_aligned);
  EXPECT_FALSE(layout_of(problem, {.products = 2}).c_is_aligned);
  problem.c.leading = 512;
  EXPECT_TRUE(layout_of(problem, {.products = 2}).c_is_aligned);
  problem.batch = 2;
  problem.c.batch_stride = 64 * 512 + 1;
  EXPECT_FALSE(layout_of(problem, {.products = 1}).c_is_aligned);
}

TEST(RegisterOperandRefusal, SaysWhatItDoesNotTake) {
  const auto refusal = [](const GemmProblem& problem) {
    return register_operand_refusal(problem, hopper()).value_or("");
  };
  EXPECT_EQ(refusal(tf32_product(3, 5, 7)), "");
  EXPECT_THAT(refusal(tf32_product(3, 0, 7)), HasSubstr("nothing"));
  GemmProblem problem = tf32_product(3, 5, 7);
  problem.b.order = Order::column_major;
  EXPECT_THAT(refusal(problem), HasSubstr("B must be row-major"));
  problem = tf32_product(3, 5, 7);
  problem.a.order = Order::column_major;
  EXPECT_EQ(refusal(problem), "") << "A is transposed first";
  problem = tf32_product(3, 5, 7);
  problem.precision = Precision::bf16;
  EXPECT_THAT(refusal(problem), HasSubstr("tf32"));
  EXPECT_THAT(register_operand_refusal(tf32_product(3, 5, 7), testing::a100()).value_or(""),
              HasSubstr("9.0"));
}

GemmProblem by_columns(const MatmulShape& shape, Order b_order) {
  GemmProblem problem = dense_problem(shape, Precision::tf32, DataType::float32, DataType::float32,
                                      Order::column_major, b_order);
  return problem;
}

// A column-major A is B^T of the transposed product: where B is column-major too, nothing is copied
// first, else one operand is, the smaller one.
TEST(RegisterTiles, AColumnMajorAIsReadInPlace) {
  const auto taken = [](const GemmProblem& problem) {
    const RegisterTile tile = best_register_tile(problem);
    const RegisterLayout layout = layout_of(problem_of(tile, problem), tile);
    return fmt::format("{}{}{}", tile.transposed ? "transposed" : "as it is",
                       layout.repacks_a ? ", first operand copied" : "",
                       layout.repacks_b ? ", second operand copied" : "");
  };
  EXPECT_EQ(taken(by_columns({6824, 136, 2368}, Order::column_major)), "transposed");
  EXPECT_EQ(taken(by_columns({136, 6824, 2368}, Order::column_major)), "transposed");
  EXPECT_EQ(taken(by_columns({6824, 136, 2368}, Order::row_major)),
            "transposed, first operand copied");
  EXPECT_EQ(taken(by_columns({136, 6824, 2368}, Order::row_major)),
            "as it is, first operand copied");
  EXPECT_EQ(taken(tf32_product(6824, 136, 2368)), "as it is");
}

// The tile of the running test: a variant prepares by a plain function, which cannot carry it.
RegisterTile transposed_tile;

TEST(RegisterOperandEmulated, TransposedTilesAreRightAndSilent) {
  const auto emulated = std::make_shared<device::EmulatedDevice>("h200");
  testing::LaunchFindings findings(*emulated);
  const GemmVariant variant{.name = "tile",
                            .idea = "",
                            .source = "",
                            .refusal = nullptr,
                            .prepare = [](Device& device, const GemmProblem& problem) {
                              return prepare_register_operand(device, problem, transposed_tile);
                            }};
  using enum RegisterPair;
  for (const RegisterTile& tile :
       {RegisterTile{.m = 128, .products = 2}, RegisterTile{.m = 64, .pair = shares_b},
        RegisterTile{.m = 256, .pair = shares_a}, RegisterTile{.m = 128, .pair = shares_c},
        RegisterTile{.m = 16, .products = 2, .consumers = 1, .splits = 2},
        RegisterTile{.m = 32, .splits = 3}}) {
    for (const MatmulShape& shape : {MatmulShape{264, 136, 264}, MatmulShape{131, 259, 301}}) {
      for (const Order b_order : {Order::row_major, Order::column_major}) {
        GemmProblem problem = by_columns(shape, b_order);
        problem.beta = tile.products == 2 || shape.m % 2 == 0 ? 0.0 : -0.5;
        problem.has_bias = tile.splits == 1;
        problem.bias_per_row = b_order == Order::row_major;
        transposed_tile = tile;
        transposed_tile.transposed = true;
        const testing::GemmCase of = testing::aligned_case(problem);
        SCOPED_TRACE(text_of(transposed_tile) + of.text);
        EXPECT_EQ(testing::defects(of, testing::run_gemm(*emulated, variant, of), true), "");
        EXPECT_EQ(findings.take(), "");
      }
    }
  }
}

std::string log_of(const GemmProblem& problem, const RegisterTile& tile, bool is_partial) {
  return testing::compiler_log(
      "gemm/register_operand.cu",
      register_constants(problem, tile, layout_of(problem, tile), is_partial));
}

TEST(RegisterOperandKernel, CompilesWithoutWarningsAndSpillsNothing) {
  GemmProblem whole = tf32_product(8192, 8192, 8192), odd = tf32_product(8191, 8191, 8191);
  for (GemmProblem* problem : {&whole, &odd}) {
    using enum RegisterPair;
    for (RegisterTile tile :
         {RegisterTile{.m = 128, .products = 2}, RegisterTile{.m = 256, .pair = shares_a},
          RegisterTile{.m = 64, .pair = shares_b}, RegisterTile{.m = 128, .pair = shares_c},
          RegisterTile{.m = 16, .products = 2, .consumers = 1}}) {
      for (const bool by_class : {false, true}) {
        tile.a_by_class = by_class;
        SCOPED_TRACE(fmt::format("{} of {}", text_of(tile), problem->shape.n));
        const std::string log = log_of(*problem, tile, tile.pair == none);
        EXPECT_THAT(log, HasSubstr("0 bytes spill stores"));
        EXPECT_THAT(log, Not(HasSubstr("warning")));
        EXPECT_THAT(log, Not(HasSubstr("serialized")));
      }
    }
    problem->beta = 1.0;
    problem->has_bias = true;
    problem->activation = Activation::relu;
    EXPECT_THAT(log_of(*problem, {.m = 64, .products = 2}, false), Not(HasSubstr("warning")));
    const std::string transposed =
        log_of(*problem, {.m = 256, .pair = shares_a, .transposed = true}, false);
    EXPECT_THAT(transposed, HasSubstr("0 bytes spill stores"));
    EXPECT_THAT(transposed, Not(HasSubstr("warning")));
  }
}

// Choices that were right on an H200. Variants see a column-major C as the row-major C^T.
struct RightChoice {
  MatmulShape shape;
  Order a, b;
  double beta;
  bool pays;
  bool networks_agree = true;
};
constexpr Order rows = Order::row_major, columns = Order::column_major;
const std::vector<RightChoice> right_choices{
    {{4005, 5746, 454}, rows, rows, 0.0, true},
    {{500, 501, 454}, rows, rows, 1.0, true},
    {{4005, 5746, 454}, rows, rows, 1.0, false, false},  // tensor_tiles fetches C
    {{5146, 5693, 64}, rows, rows, 0.0, true},           // 61 us, not 89
    // The rows of its tiles are columns of C.
    {{2502, 2451, 115}, columns, columns, 0.0, false},
    {{5071, 1507, 131}, columns, columns, 0.0, false},  // 58 us, not 33
    {{1075, 133, 886}, columns, columns, 0.0, true, false},
    {{5470, 213, 49}, columns, columns, 0.0, false},  // mostly the store
    {{7201, 250, 1947}, columns, columns, 0.0, true},
    {{1072, 792, 792}, columns, columns, 0.0, true},  // whole chunks
    {{4752, 5352, 144}, columns, columns, 0.0, false},
    {{6120, 2640, 856}, columns, columns, 0.0, true},  // mostly products
    // Both operands across k.
    {{149, 5770, 121}, columns, rows, 0.0, true},
    {{1392, 400, 232}, columns, rows, 0.0, true},
    {{2370, 1567, 62}, columns, rows, 0.0, true}};  // 14 us, not 21

GemmProblem product_of(const RightChoice& choice) {
  GemmProblem problem = dense_problem(choice.shape, Precision::tf32, DataType::float32,
                                      DataType::float32, choice.a, choice.b);
  problem.beta = choice.beta;
  return problem;
}

// The least cycles that the model alone expects of a tile.
template <typename Tile>
double least_by_model(const GemmProblem& problem, const std::vector<Tile>& tiles) {
  double least = std::numeric_limits<double>::infinity();
  for (const Tile& timed : tiles) {
    least = std::min(least, timed_features(problem, timed.tile, hopper().sm_count).cycles);
  }
  return least;
}

TEST(RegisterOperand, IsFasterByTheModelsWhereItWasFasterThanTensorTiles) {
  for (const RightChoice& choice : right_choices) {
    SCOPED_TRACE(choice.shape.m);
    const GemmProblem problem = product_of(choice);
    if (!tensor_tiles_pay(problem, hopper())) continue;
    EXPECT_EQ(least_by_model(problem, timed_register_tiles(problem, hopper())) <
                  least_by_model(problem, timed_tensor_tiles(problem, hopper())),
              choice.pays);
  }
}

// The networks behind the models choose better on average, but two of these otherwise
// (docs/results/products_random_h200.md).
TEST(RegisterOperand, PaysWhereItWasFasterThanTensorTiles) {
  for (const RightChoice& choice : right_choices) {
    SCOPED_TRACE(choice.shape.m);
    EXPECT_EQ(register_operand_pays(product_of(choice), hopper()) == choice.pays,
              choice.networks_agree);
  }
  const RightChoice short_k{{1392, 400, 112}, columns, rows, 0.0, false};
  EXPECT_FALSE(register_operand_pays(product_of(short_k), hopper()))
      << "mma_sync takes whole chunks";
}

}  // namespace
}  // namespace tilescope::operations
