// The kernel that multiplies the tiles of a product, and the layout that it needs.
#include "transfer/tile_kernel.hpp"

#include <gtest/gtest.h>

#include <tilescope/error.hpp>

namespace tilescope::transfer {
namespace {

constexpr Order by_rows = Order::row_major;

// An H200 as the driver shows it.
DeviceProperties h200() {
  DeviceProperties properties = Device::open("emulated")->properties();
  properties.warpgroup_products = true;
  return properties;
}

// Has no tensor copies.
DeviceProperties a100() {
  return Device::open("emulated:a100")->properties();
}

TileKernel chosen(const DeviceProperties& device, const MatmulShape& shape,
                  const std::string& name = "", bool must_cut_k = false,
                  DataType element = DataType::float32) {
  return choose_tile_kernel(device, shape, element, by_rows, by_rows, name, must_cut_k);
}

TEST(TileKernel, IsThatOfTheWholeProduct) {
  const TileKernel large = chosen(h200(), {65536, 65536, 65536});
  EXPECT_EQ(large.name, "ffma_tiles");
  EXPECT_TRUE(large.takes_parts());
  EXPECT_TRUE(large.a_by_columns);
  EXPECT_TRUE(large.runs_overlap);
  ASSERT_TRUE(large.ffma);
  EXPECT_EQ(large.ffma->splits, 1);
  for (const char* emulated : {"emulated:a100", "emulated:h200"}) {
    EXPECT_EQ(chosen(Device::open(emulated)->properties(), {65536, 65536, 65536}).name,
              "warp_tiles");
  }
  EXPECT_EQ(chosen(h200(), {4096, 4096, 4096}, "", false, DataType::float64).name,
            "tiled_checked_32");
}

TEST(TileKernel, PartsOfKAreThoseOfTheWholeProduct) {
  const TileKernel deep = chosen(h200(), {256, 256, 65536});
  ASSERT_TRUE(deep.ffma);
  EXPECT_GT(deep.ffma->splits, 1);
  EXPECT_FALSE(deep.runs_overlap) << "they share memory for the sums of the parts";
  const TileKernel small = chosen(h200(), {96, 64, 2600});
  EXPECT_EQ(small.name, "short_k");
  ASSERT_TRUE(small.short_k);
  EXPECT_GT(small.short_k->splits, 1);
  EXPECT_FALSE(small.runs_overlap);
  EXPECT_FALSE(small.a_by_columns) << "as it lies";
}

// Whose rows, in a device's memory, begin at multiples of 16 bytes.
TEST(TileKernel, RowsLieAsThoseOfTheWholeProduct) {
  constexpr Order by_columns = Order::column_major;
  const MatmulShape odd{511, 64, 700};
  const TileKernel kernel =
      choose_tile_kernel(h200(), odd, DataType::float32, by_columns, by_columns, "short_k", false);
  operations::GemmProblem problem = operations::dense_problem(
      odd, Precision::fp32, DataType::float32, DataType::float32, by_columns, by_columns);
  const auto plan_of = [&] { return operations::short_k_plan_candidates(problem, h200()).front(); };
  const int dense = plan_of().tile.rows();
  problem.a.leading = 512;
  problem.b.leading = 704;
  ASSERT_NE(plan_of().tile.rows(), dense);
  EXPECT_EQ(kernel.short_k->tile.rows(), plan_of().tile.rows());
  EXPECT_EQ(kernel.short_k->splits, plan_of().splits);
}

TEST(TileKernel, OnlySomeCanCutK) {
  EXPECT_EQ(chosen(h200(), {4096, 4096, 1 << 22}, "", true).name, "warp_tiles");
  EXPECT_TRUE(chosen(h200(), {4096, 4096, 1 << 22}, "", true).can_cut_k);
  for (const char* name : {"ffma_tiles", "short_k", "general"}) {
    EXPECT_FALSE(chosen(h200(), {4096, 4096, 4096}, name).can_cut_k);
    EXPECT_THROW(chosen(h200(), {4096, 4096, 1 << 22}, name, true), Error) << name;
  }
}

TEST(TileKernel, WhatDoesNotMultiplyInPartsIsRefused) {
  for (const char* name : {"tiled_16", "mma_sync", "tensor_tiles", "nonsense"}) {
    EXPECT_THROW(chosen(h200(), {4096, 4096, 4096}, name), Error) << name;
  }
  EXPECT_THROW(chosen(a100(), {512, 512, 512}, "ffma_tiles"), Error);
  EXPECT_THROW(chosen(h200(), {512, 512, 512}, "ffma_tiles", false, DataType::float64), Error);
}

}  // namespace
}  // namespace tilescope::transfer
