// Tiles of tensor_tiles.cu and panel_tiles.cu in every way in which they load operands and store C,
// and narrow ones, on the emulated device: the products are verified, and the checker is silent.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "device/emulated/emulated_device.hpp"
#include "operations/gemm/hopper/tensor_tiles.hpp"
#include "support/gemm_runs.hpp"
#include "support/launch_findings.hpp"

namespace tilescope::operations {
namespace {

using namespace testing;

struct TileCase {
  std::string name;
  std::string tile;  ///< as parse_tensor_tile() takes it
  MatmulShape shape;
  bool a_by_columns = false, b_by_columns = false;
  double beta = 0.0;
  bool has_bias = false, bias_per_row = false;
  DataType c = DataType::bfloat16;
  Precision precision = Precision::bf16;

  friend void PrintTo(const TileCase& of, std::ostream* out) { *out << of.tile; }
};

GemmProblem problem_of(const TileCase& of) {
  GemmProblem problem = dense_problem(of.shape, of.precision, operand_type(of.precision), of.c);
  const auto by_columns = [](GemmOperand& operand, std::int64_t rows) {
    operand.order = Order::column_major;
    operand.leading = rows;
  };
  if (of.a_by_columns) by_columns(problem.a, of.shape.m);
  if (of.b_by_columns) by_columns(problem.b, of.shape.k);
  problem.beta = of.beta;
  problem.has_bias = of.has_bias;
  problem.bias_per_row = of.bias_per_row;
  return problem;
}

// The tile of the running test: a variant prepares by a plain function, which cannot carry it.
TensorTile tile;

class TensorTilesEmulated : public ::testing::TestWithParam<TileCase> {};

GemmVariant variant_of(const std::string& text) {
  tile = parse_tensor_tile(text);
  return {.name = "tile",
          .idea = "",
          .source = "",
          .refusal = nullptr,
          .prepare = [](Device& device, const GemmProblem& problem) {
            return prepare_tensor_tiles(device, problem, tile);
          }};
}

TEST_P(TensorTilesEmulated, AreRightAndSilent) {
  const auto emulated = std::make_shared<device::EmulatedDevice>("h200");
  LaunchFindings findings(*emulated);
  const GemmCase of = aligned_case(problem_of(GetParam()));
  const GemmVariant variant = variant_of(GetParam().tile);
  EXPECT_EQ(defects(of, run_gemm(*emulated, variant, of), true), "");
  EXPECT_EQ(findings.take(), "");
}

// A part of a product, as a panel of several devices', has the bits of the whole: so an element's
// sum may not depend on the layer that stores it.
TEST(TensorTileLayers, AddUpInTheOrderOfK) {
  const auto emulated = std::make_shared<device::EmulatedDevice>("h200");
  GemmCase of = aligned_case(
      dense_problem({128, 128, 392}, Precision::bf16, DataType::bfloat16, DataType::float32));
  // Four equal quarters of C, each of which another layer stores.
  of.a.each([&](auto b, auto i, auto k) { of.a.set(b, i, k, of.a.get(b, i % 64, k)); });
  of.b.each([&](auto b, auto k, auto j) { of.b.set(b, k, j, of.b.get(b, k, j % 64)); });
  const GemmMatrices c = run_gemm(*emulated, variant_of("128,128,2,4,4,1,8,0,2,0,0,1,4"), of);
  int differing = 0;
  c.each([&](auto b, auto i, auto j) {
    differing += c.get(b, i, j) == c.get(b, i % 64, j % 64) ? 0 : 1;
  });
  EXPECT_EQ(differing, 0);
  EXPECT_EQ(defects(of, c, true), "");
}

TEST(TensorTileLayers, AreForBlocksWithOneTileAndAsManyTilesOfK) {
  const auto emulated = std::make_shared<device::EmulatedDevice>("h200");
  const GemmVariant variant = variant_of("64,64,1,4,2,1,8,0,1,0,0,1,2");
  const auto product = [](std::int64_t m, std::int64_t k) {
    return dense_problem({m, 64, k}, Precision::bf16, DataType::bfloat16, DataType::bfloat16);
  };
  EXPECT_NO_THROW(variant.prepare(*emulated, product(64 * 66, 128)));
  EXPECT_THROW(variant.prepare(*emulated, product(64 * 67, 128)), Error);
  EXPECT_THROW(variant.prepare(*emulated, product(64, 64)), Error);
}

// M,N,consumers,stages,cluster,splits,group,in_turn,boxes[,panel[,flags[,across[,layers]]]]; a flag
// of 8: transposed.
const std::vector<TileCase> tile_cases{
    {.name = "AddsAllBoxes",
     .tile = "128,256,2,3,1,1,8,0,4",
     .shape = {136, 264, 136},
     .beta = -0.5},
    {.name = "AddsLots",
     .tile = "256,128,2,3,1,1,8,0,1",
     .shape = {264, 136, 72},
     .beta = 2.0,
     .has_bias = true},
    {.name = "AddsInTurn", .tile = "128,128,2,4,1,1,8,1,2", .shape = {520, 264, 72}, .beta = 0.75},
    {.name = "AddsFloats",
     .tile = "64,128,1,4,1,1,8,0,2",
     .shape = {136, 136, 40},
     .beta = 1.0,
     .c = DataType::float32},
    {.name = "AddsUnderAPanel",
     .tile = "64,256,2,8,1,1,8,1,2,2",
     .shape = {200, 512, 128},
     .beta = 1.0},
    {.name = "AddsRows",
     .tile = "128,128,2,4,1,1,8,0,2",
     .shape = {131, 131, 72},
     .beta = 1.0,
     .has_bias = true},
    {.name = "AddsTransposed",
     .tile = "128,144,2,4,1,1,8,0,2,0,8",
     .shape = {296, 264, 72},
     .beta = 1.0,
     .has_bias = true},
    {.name = "TransposedOfColumns",
     .tile = "64,80,1,4,1,1,8,0,1,0,8",
     .shape = {168, 136, 72},
     .a_by_columns = true},
    {.name = "TransposedOfColumnsInClusters",
     .tile = "128,176,2,3,1,1,8,0,1,0,8",
     .shape = {360, 264, 136},
     .a_by_columns = true,
     .b_by_columns = true,
     .has_bias = true,
     .bias_per_row = true},
    {.name = "TransposedOfColumnsThatBeginAnywhere",
     .tile = "64,48,1,4,1,1,8,0,2,0,8",
     .shape = {50, 1032, 28},
     .a_by_columns = true,
     .b_by_columns = true,
     .beta = 1.0},
    {.name = "TransposedHigh",
     .tile = "256,112,2,3,2,1,8,0,1,0,8",
     .shape = {240, 520, 72},
     .beta = -1.0},
    {.name = "ThreeConsumers",
     .tile = "192,192,3,3,1,1,8,0,3",
     .shape = {392, 200, 72},
     .beta = 1.0},
    {.name = "Large", .tile = "256,192,2,3,1,1,8,0,3", .shape = {264, 392, 136}},
    {.name = "PromotesSums",
     .tile = "256,128,2,3,1,1,8,0,2",
     .shape = {264, 136, 272},
     .b_by_columns = true,
     .beta = 0.5,
     .has_bias = true,
     .precision = Precision::fp8_e4m3},
    {.name = "PromotesSumsInClusters",
     .tile = "128,128,2,3,2,1,8,0,2",
     .shape = {392, 264, 400},
     .beta = 1.0,
     .precision = Precision::fp8_e5m2},
    {.name = "PromotesPartsOfK",
     .tile = "128,192,2,3,1,2,8,0,1",
     .shape = {136, 200, 1000},
     .c = DataType::float32,
     .precision = Precision::fp8_e4m3},
    {.name = "PromotesByOneConsumer",
     .tile = "64,192,1,4,1,1,8,0,1",
     .shape = {65, 129, 300},
     .has_bias = true,
     .c = DataType::float16,
     .precision = Precision::fp8_e4m3},
    {.name = "PromotesByThreeConsumers",
     .tile = "192,64,3,4,1,1,8,0,1",
     .shape = {392, 136, 272},
     .precision = Precision::fp8_e4m3},
    {.name = "PromotesTransposed",
     .tile = "128,112,2,4,2,1,8,0,1,0,8",
     .shape = {240, 392, 272},
     .beta = 1.0,
     .has_bias = true,
     .precision = Precision::fp8_e5m2},
    {.name = "PromotesAcross",
     .tile = "256,64,2,3,2,1,8,0,1,0,0,2",
     .shape = {264, 200, 144},
     .precision = Precision::fp8_e4m3},
    {.name = "IntegersInBoxes",
     .tile = "128,256,2,3,1,1,8,0,2",
     .shape = {136, 264, 272},
     .b_by_columns = true,
     .c = DataType::int32,
     .precision = Precision::int8},
    {.name = "IntegersInRows",
     .tile = "128,128,2,4,2,1,8,0,2",
     .shape = {131, 131, 400},
     .c = DataType::int32,
     .precision = Precision::int8},
    {.name = "IntegersInTurn",
     .tile = "128,128,2,4,1,1,8,1,2",
     .shape = {264, 264, 272},
     .c = DataType::int32,
     .precision = Precision::int8},
    {.name = "IntegersUnderAPanel",
     .tile = "64,256,2,8,1,1,8,1,2,2",
     .shape = {200, 512, 256},
     .c = DataType::int32,
     .precision = Precision::int8},
    {.name = "TransposedInTurn", .tile = "128,176,2,3,1,1,8,1,1,0,8", .shape = {712, 520, 136}},
    {.name = "AddsTransposedInTurn",
     .tile = "128,144,2,4,1,1,8,1,2,0,8",
     .shape = {296, 392, 72},
     .b_by_columns = true,
     .beta = 0.5,
     .has_bias = true},
    {.name = "SharesAAndB", .tile = "64,128,1,3,4,1,8,0,2,0,0,2", .shape = {200, 264, 264}},
    {.name = "SharesColumnsOfAAndRowsOfB",
     .tile = "64,128,1,3,4,1,8,0,2,0,0,2",
     .shape = {200, 264, 264},
     .a_by_columns = true,
     .b_by_columns = true},
    {.name = "SharesByEight",
     .tile = "64,64,1,3,8,1,8,0,1,0,0,4",
     .shape = {136, 264, 328},
     .a_by_columns = true},
    {.name = "AddsBeyondTheLastColumn",
     .tile = "64,64,1,3,8,1,8,0,1,0,0,8",
     .shape = {72, 328, 200},
     .beta = -1.0},
    {.name = "AddsRowsOfThreeBoxes",
     .tile = "128,192,2,3,1,1,8,0,3",
     .shape = {131, 401, 72},
     .beta = 0.5,
     .has_bias = true},
    {.name = "AddsRowsOfPartOfAChunk",
     .tile = "64,64,1,3,1,1,8,0,1",
     .shape = {67, 131, 40},
     .beta = 1.0},
    {.name = "AddsRowsInTurn",
     .tile = "64,128,2,3,1,1,8,1,1",
     .shape = {195, 263, 40},
     .beta = -1.0,
     .c = DataType::float32},
    {.name = "AddsRowsOfClasses",
     .tile = "64,64,1,3,8,1,8,0,1,0,0,8",
     .shape = {600, 331, 203},
     .beta = 0.5},
    {.name = "SharesInTurn",
     .tile = "64,64,2,3,8,1,8,1,1,0,0,2",
     .shape = {1160, 520, 72},
     .b_by_columns = true},
    {.name = "SharesTransposedInTurn",
     .tile = "64,48,2,3,8,1,8,1,1,0,8,2",
     .shape = {584, 1160, 72},
     .beta = 1.0},
    {.name = "PromotesSharedSums",
     .tile = "128,128,2,3,4,1,8,0,2,0,0,2",
     .shape = {264, 264, 272},
     .beta = 1.0,
     .precision = Precision::fp8_e4m3},
    {.name = "TwoLayers", .tile = "128,128,2,4,2,1,8,0,1,0,0,1,2", .shape = {136, 264, 264}},
    {.name = "FourLayersAdd",
     .tile = "128,128,2,4,4,1,8,0,1,0,0,1,4",
     .shape = {136, 264, 520},
     .beta = 0.5,
     .has_bias = true},
    {.name = "LayersThatShareB",
     .tile = "64,128,1,4,4,1,8,0,1,0,0,1,2",
     .shape = {200, 136, 328},
     .a_by_columns = true,
     .b_by_columns = true},
    {.name = "ThreeLayersThatShareA",
     .tile = "64,64,1,4,6,1,8,0,1,0,0,2,3",
     .shape = {72, 200, 264},
     .beta = -1.0,
     .has_bias = true,
     .bias_per_row = true,
     .c = DataType::float32},
    {.name = "LayersOfRectangles",
     .tile = "128,64,2,3,8,1,8,0,1,0,0,2,2",
     .shape = {264, 136, 200},
     .b_by_columns = true},
    {.name = "LayersBeyondTheLastColumn",
     .tile = "256,192,2,3,2,1,8,0,1,0,0,1,2",
     .shape = {264, 72, 136},
     .beta = 1.0},
    {.name = "LayersAddRows",
     .tile = "128,128,2,4,2,1,8,0,1,0,0,1,2",
     .shape = {131, 131, 200},
     .beta = 1.0,
     .has_bias = true},
    {.name = "LayersAddElements",
     .tile = "64,128,1,4,2,1,8,0,2,0,0,1,2",
     .shape = {67, 131, 200},
     .beta = -0.5,
     .c = DataType::float32},
    {.name = "LayersOfRowsOfClasses",
     .tile = "64,64,1,4,2,1,8,0,1,0,0,1,2",
     .shape = {600, 67, 203},
     .beta = 0.5},
    {.name = "MoreLayersThanLots",
     .tile = "64,64,1,8,8,1,8,0,1,0,0,1,8",
     .shape = {72, 72, 584},
     .beta = 1.0},
    {.name = "TransposedLayers",
     .tile = "128,48,2,4,3,1,8,0,1,0,8,1,3",
     .shape = {104, 136, 328},
     .beta = 1.0,
     .has_bias = true},
    {.name = "TransposedLayersThatShare",
     .tile = "64,144,1,4,4,1,8,0,1,0,8,1,2",
     .shape = {296, 136, 200},
     .a_by_columns = true,
     .b_by_columns = true},
    {.name = "LayersOfThreeConsumers",
     .tile = "192,128,3,3,2,1,8,0,1,0,0,1,2",
     .shape = {200, 136, 272},
     .c = DataType::float16,
     .precision = Precision::fp16},
    {.name = "LayersOfPromotedSums",
     .tile = "128,128,2,4,2,1,8,0,1,0,0,1,2",
     .shape = {136, 136, 656},
     .beta = 1.0,
     .precision = Precision::fp8_e4m3},
    {.name = "LayersOfIntegers",
     .tile = "128,128,2,4,3,1,8,0,2,0,0,1,3",
     .shape = {131, 131, 528},
     .c = DataType::int32,
     .precision = Precision::int8},
    {.name = "LayersOfTf32",
     .tile = "128,64,2,4,2,1,8,0,1,0,0,1,2",
     .shape = {136, 136, 100},
     .b_by_columns = true,
     .c = DataType::float32,
     .precision = Precision::tf32},
    {.name = "ClusterOfFour", .tile = "64,256,1,4,4,1,8,0,2", .shape = {264, 264, 72}, .beta = 1.0},
    // Tiles that end with a narrow box of C.
    {.name = "NarrowEnd",
     .tile = "128,176,2,4,1,1,8,0,1",
     .shape = {264, 360, 136},
     .a_by_columns = true,
     .b_by_columns = true},
    {.name = "NarrowEndAddsAllBoxes",
     .tile = "128,240,2,3,2,1,8,0,4",
     .shape = {264, 248, 136},
     .b_by_columns = true,
     .beta = -0.5,
     .has_bias = true,
     .bias_per_row = true},
    {.name = "NarrowEndAddsLots",
     .tile = "256,160,2,4,2,1,8,0,1,0,0,2",
     .shape = {264, 488, 72},
     .b_by_columns = true,
     .beta = 2.0,
     .has_bias = true},
    {.name = "NarrowEndInTurn",
     .tile = "128,112,2,4,1,1,8,1,2",
     .shape = {520, 232, 72},
     .b_by_columns = true},
    // Boxes of different widths in one place, which each warp stores when its rows are there.
    {.name = "NarrowEndInTurnBoxByBox",
     .tile = "128,144,2,5,1,1,8,1,1",
     .shape = {776, 568, 72},
     .b_by_columns = true},
    {.name = "NarrowEndOfFloatsInTurn",
     .tile = "64,176,2,4,1,1,8,1,2",
     .shape = {392, 536, 40},
     .b_by_columns = true,
     .c = DataType::float32},
    {.name = "NarrowEndAddsInTurn",
     .tile = "64,48,2,4,4,1,8,1,1,0,0,2",
     .shape = {520, 104, 72},
     .beta = 0.75},
    {.name = "NarrowEndOfThreeConsumers",
     .tile = "192,144,3,3,1,1,8,0,3",
     .shape = {392, 296, 136},
     .b_by_columns = true,
     .c = DataType::float16,
     .precision = Precision::fp16},
    {.name = "NarrowEndOfFloats",
     .tile = "64,48,1,4,1,1,8,0,2",
     .shape = {136, 100, 40},
     .beta = 1.0,
     .c = DataType::float32},
    {.name = "NarrowEndOfRows",
     .tile = "128,176,2,3,1,1,8,0,3",
     .shape = {131, 359, 72},
     .b_by_columns = true,
     .has_bias = true},
    {.name = "NarrowEndOfRowsByBoxes",
     .tile = "128,112,2,3,1,1,8,0,1",
     .shape = {131, 233, 72},
     .a_by_columns = true},
    {.name = "NarrowEndAddsRows",
     .tile = "128,112,2,3,1,1,8,0,1",
     .shape = {131, 233, 72},
     .beta = 1.0,
     .has_bias = true},
    {.name = "NarrowEndAddsRowsOfAllBoxes",
     .tile = "64,240,1,3,1,1,8,0,4",
     .shape = {67, 487, 72},
     .b_by_columns = true,
     .beta = -1.0},
    {.name = "NarrowEndAddsElements",
     .tile = "64,112,1,4,1,1,8,0,1",
     .shape = {67, 227, 40},
     .beta = -0.5,
     .c = DataType::float32},
    {.name = "NarrowEndOfClasses",
     .tile = "64,80,1,3,4,1,8,0,1,0,0,4",
     .shape = {600, 328, 203},
     .beta = 0.5},
    {.name = "NarrowEndOfRowsOfClasses",
     .tile = "64,80,1,3,8,1,8,0,2,0,0,8",
     .shape = {600, 331, 203}},
    {.name = "NarrowEndOfPartsOfK",
     .tile = "128,80,2,4,1,2,8,0,1",
     .shape = {136, 168, 1000},
     .c = DataType::float32},
    {.name = "NarrowEndOfPromotedSums",
     .tile = "128,112,2,3,2,1,8,0,2",
     .shape = {264, 232, 272},
     .b_by_columns = true,
     .beta = 0.5,
     .precision = Precision::fp8_e4m3},
    {.name = "NarrowEndOfIntegers",
     .tile = "128,208,2,3,1,1,8,0,1",
     .shape = {136, 424, 272},
     .b_by_columns = true,
     .c = DataType::int32,
     .precision = Precision::int8},
    {.name = "NarrowEndOfTf32",
     .tile = "128,80,2,4,2,1,8,0,3",
     .shape = {264, 164, 100},
     .b_by_columns = true,
     .beta = 1.0,
     .c = DataType::float32,
     .precision = Precision::tf32},
};

INSTANTIATE_TEST_SUITE_P(Tiles, TensorTilesEmulated, ::testing::ValuesIn(tile_cases),
                         [](const auto& of) { return of.param.name; });

TEST(NarrowTilesEmulated, AreRightAndSilent) {
  const auto emulated = std::make_shared<device::EmulatedDevice>("h200");
  LaunchFindings findings(*emulated);
  for (const MatmulShape& shape : {MatmulShape{13, 200, 1096}, MatmulShape{200, 40, 1096}}) {
    for (const bool per_row : {false, true}) {
      SCOPED_TRACE(fmt::format("{} x {}, {}", shape.m, shape.n, per_row));
      const GemmCase of = aligned_case(
          problem_of({.shape = shape, .beta = 0.5, .has_bias = true, .bias_per_row = per_row}));
      EXPECT_EQ(defects(of, run_gemm(*emulated, gemm_variant("narrow_tiles"), of), true), "");
      EXPECT_EQ(findings.take(), "");
    }
  }
}

}  // namespace
}  // namespace tilescope::operations
