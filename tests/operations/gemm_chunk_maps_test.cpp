// Rows of C that begin anywhere: which of them are stored in chunks, and the maps for that.
#include <gtest/gtest.h>

#include "operations/gemm/tensor_tile_layout.hpp"
#include "support/fake_device.hpp"
#include "support/gpus.hpp"

namespace tilescope::operations {
namespace {

class MapDevice final : public testing::FakeDevice {
 public:
  using FakeDevice::FakeDevice;
  TensorMap tensor_map(const TensorMapRequest& request) override {
    requests.push_back(request);
    return {};
  }
  std::vector<TensorMapRequest> requests;
};

// Every whole chunk of every row is in the map of its class, and nothing else.
void covers(std::int64_t rows, std::int64_t columns, std::int64_t pitch, DeviceAddress address) {
  MapDevice device(testing::h200());
  const RowsInMemory matrix{
      .type = DataType::bfloat16, .rows = rows, .columns = columns, .pitch = pitch};
  const int groups = residue_groups(matrix.pitch_bytes());
  const ResidueMaps maps = whole_chunk_maps(device, matrix, address, groups, 120, 16);
  ASSERT_EQ(maps.maps.size(), static_cast<std::size_t>(groups));
  ASSERT_EQ(device.requests.size(), maps.maps.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    SCOPED_TRACE(r);
    const TensorMapRequest& map = device.requests[static_cast<std::size_t>(r % groups)];
    const std::int64_t head = maps.shifts[static_cast<std::size_t>(r % groups)];
    const DeviceAddress row = address + static_cast<DeviceAddress>(r * pitch * 2);
    const DeviceAddress first =
        map.address + static_cast<DeviceAddress>(r / groups) * map.pitches[0];
    EXPECT_EQ(first % 16, 0U);
    EXPECT_EQ(first, row + static_cast<DeviceAddress>(2 * head));
    EXPECT_LT(head, 8);
    EXPECT_EQ(map.extents[0] % 8, 0U);
    const std::int64_t left = columns - head - static_cast<std::int64_t>(map.extents[0]);
    EXPECT_TRUE(left >= 0 && left < 8) << left;
    EXPECT_LT(static_cast<std::uint64_t>(r / groups), map.extents[1]);
  }
  std::uint64_t rows_of_all = 0;
  for (const TensorMapRequest& map : device.requests) {
    rows_of_all += map.extents[1];
    EXPECT_EQ(map.pitches[0] % 16, 0U);
    EXPECT_EQ(map.swizzle, Swizzle::none);
  }
  EXPECT_EQ(rows_of_all, static_cast<std::uint64_t>(std::max<std::int64_t>(rows, groups)));
}

TEST(ChunkMaps, HoldTheWholeChunksOfEveryRow) {
  covers(1023, 1023, 1023, 4096);
  covers(61, 130, 130, 4096);
  covers(60, 132, 140, 256);
  covers(64, 129, 136, 256);
  covers(17, 64, 64, 4096);
  covers(20, 131, 131, 4096 + 6);
  covers(5, 100, 101, 4096);  // fewer rows than classes
}

GemmProblem product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return dense_problem({m, n, k}, Precision::bf16, DataType::bfloat16, DataType::bfloat16);
}

constexpr TensorTile high{.m = 256, .n = 128, .boxes = 2};
constexpr TensorTile low{.m = 64, .n = 128, .consumers = 1, .boxes = 2};

TEST(ChunkMaps, AreForTilesOfRowsOfOneClass) {
  const TileLayout odd = layout_of(product(4095, 4097, 4099), high);
  EXPECT_EQ(odd.store, Store::chunks);
  EXPECT_EQ(odd.classes, 8);
  EXPECT_TRUE(odd.a.repacked);
  EXPECT_FALSE(odd.a_begins_anywhere);

  const TileLayout even = layout_of(product(4096, 4094, 4096), high);
  EXPECT_EQ(even.store, Store::chunks);
  EXPECT_EQ(even.classes, 4);
  EXPECT_FALSE(even.a.repacked);

  const TileLayout both = layout_of(product(8191, 8190, 8191), {.m = 128, .n = 256});
  EXPECT_EQ(both.store, Store::chunks);
  EXPECT_EQ(both.classes, 8);
  EXPECT_TRUE(both.a_begins_anywhere);

  GemmProblem gaps = product(100, 1001, 1000);
  gaps.c.leading = 1008;
  EXPECT_EQ(layout_of(gaps, low).store, Store::chunks);
  EXPECT_EQ(layout_of(gaps, low).classes, 1);
}

TEST(ChunkMaps, AreNotForTheRest) {
  EXPECT_EQ(layout_of(product(4096, 4096, 4095), high).store, Store::boxed);
  EXPECT_EQ(layout_of(product(260, 389, 199), low).store, Store::rows) << "tiles half empty";
  EXPECT_EQ(layout_of(product(260, 389, 199), low).classes, 1);
  EXPECT_EQ(layout_of(product(4096, 33, 4096), low).store, Store::rows) << "few columns";
  GemmProblem problem = product(4096, 4095, 4096);
  const auto store = [&](const TensorTile& tile) { return layout_of(problem, tile).store; };
  EXPECT_EQ(store(high), Store::chunks);
  EXPECT_EQ(store({.m = 256, .n = 128, .boxes = 1}), Store::rows) << "half of each row";
  EXPECT_EQ(store({.m = 256, .n = 128, .splits = 2, .boxes = 2}), Store::partial);
  EXPECT_EQ(store({.m = 64, .n = 256, .panel = 4}), Store::rows);
  problem.batch = 3;
  problem.c.batch_stride = 4096 * 4095 + 1;
  EXPECT_EQ(store(high), Store::rows);
  problem.c.batch_stride = 4096 * 4095;
  EXPECT_EQ(store(high), Store::chunks);
  problem.beta = 1.0;
  EXPECT_EQ(store(high), Store::each);
  problem.beta = 0.0;
  problem.c.type = DataType::float32;
  EXPECT_EQ(store(high), Store::rows);
  problem = product(4096, 4095, 4096);
  problem.a.order = Order::column_major;
  problem.a.leading = 4096;
  EXPECT_EQ(store(high), Store::rows) << "columns of A are not of one class";
}

}  // namespace
}  // namespace tilescope::operations
