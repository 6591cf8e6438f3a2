// Tiles of tensor_tiles.cu that end with a narrow box of C, in every way in which they store it.
#include <gtest/gtest.h>

#include <vector>

#include "support/tile_cases.hpp"

namespace tilescope::operations {
namespace {

using testing::TileCase;

class NarrowEndsEmulated : public ::testing::TestWithParam<TileCase> {};

TEST_P(NarrowEndsEmulated, AreRightAndSilent) {
  testing::expect_right_and_silent(GetParam());
}

// M,N,consumers,stages,cluster,splits,group,in_turn,boxes[,panel,flags,across].
const std::vector<TileCase> narrow_cases{
    {.name = "TwoBoxesAndAHalf",
     .tile = "128,176,2,4,1,1,8,0,1",
     .shape = {264, 360, 136},
     .a_by_columns = true,
     .b_by_columns = true},
    {.name = "AddsAllBoxes",
     .tile = "128,240,2,3,2,1,8,0,4",
     .shape = {264, 248, 136},
     .b_by_columns = true,
     .beta = -0.5,
     .has_bias = true,
     .bias_per_row = true},
    {.name = "AddsLots",
     .tile = "256,160,2,4,2,1,8,0,1,0,0,2",
     .shape = {264, 488, 72},
     .b_by_columns = true,
     .beta = 2.0,
     .has_bias = true},
    {.name = "InTurn",
     .tile = "128,112,2,4,1,1,8,1,2",
     .shape = {520, 232, 72},
     .b_by_columns = true},
    // Boxes of different widths in one place, which each warp stores when its rows are there.
    {.name = "InTurnBoxByBox",
     .tile = "128,144,2,5,1,1,8,1,1",
     .shape = {776, 568, 72},
     .b_by_columns = true},
    {.name = "OfFloatsInTurn",
     .tile = "64,176,2,4,1,1,8,1,2",
     .shape = {392, 536, 40},
     .b_by_columns = true,
     .c = DataType::float32},
    {.name = "AddsInTurn",
     .tile = "64,48,2,4,4,1,8,1,1,0,0,2",
     .shape = {520, 104, 72},
     .beta = 0.75},
    {.name = "OfThreeConsumers",
     .tile = "192,144,3,3,1,1,8,0,3",
     .shape = {392, 296, 136},
     .b_by_columns = true,
     .c = DataType::float16,
     .precision = Precision::fp16},
    {.name = "OfFloats",
     .tile = "64,48,1,4,1,1,8,0,2",
     .shape = {136, 100, 40},
     .beta = 1.0,
     .c = DataType::float32},
    {.name = "OfRows",
     .tile = "128,176,2,3,1,1,8,0,3",
     .shape = {131, 359, 72},
     .b_by_columns = true,
     .has_bias = true},
    {.name = "OfRowsByBoxes",
     .tile = "128,112,2,3,1,1,8,0,1",
     .shape = {131, 233, 72},
     .a_by_columns = true},
    {.name = "AddsRows",
     .tile = "128,112,2,3,1,1,8,0,1",
     .shape = {131, 233, 72},
     .beta = 1.0,
     .has_bias = true},
    {.name = "AddsRowsOfAllBoxes",
     .tile = "64,240,1,3,1,1,8,0,4",
     .shape = {67, 487, 72},
     .b_by_columns = true,
     .beta = -1.0},
    {.name = "AddsElements",
     .tile = "64,112,1,4,1,1,8,0,1",
     .shape = {67, 227, 40},
     .beta = -0.5,
     .c = DataType::float32},
    {.name = "OfClasses",
     .tile = "64,80,1,3,4,1,8,0,1,0,0,4",
     .shape = {600, 328, 203},
     .beta = 0.5},
    {.name = "OfRowsOfClasses", .tile = "64,80,1,3,8,1,8,0,2,0,0,8", .shape = {600, 331, 203}},
    {.name = "OfPartsOfK",
     .tile = "128,80,2,4,1,2,8,0,1",
     .shape = {136, 168, 1000},
     .c = DataType::float32},
    {.name = "OfPromotedSums",
     .tile = "128,112,2,3,2,1,8,0,2",
     .shape = {264, 232, 272},
     .b_by_columns = true,
     .beta = 0.5,
     .precision = Precision::fp8_e4m3},
    {.name = "OfIntegers",
     .tile = "128,208,2,3,1,1,8,0,1",
     .shape = {136, 424, 272},
     .b_by_columns = true,
     .c = DataType::int32,
     .precision = Precision::int8},
    {.name = "OfTf32",
     .tile = "128,80,2,4,2,1,8,0,3",
     .shape = {264, 164, 100},
     .b_by_columns = true,
     .beta = 1.0,
     .c = DataType::float32,
     .precision = Precision::tf32},
};

INSTANTIATE_TEST_SUITE_P(Tiles, NarrowEndsEmulated, ::testing::ValuesIn(narrow_cases),
                         [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace tilescope::operations
