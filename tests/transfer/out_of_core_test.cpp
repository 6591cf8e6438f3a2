#include "transfer/out_of_core.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <tilescope/error.hpp>
#include <tilescope/matmul.hpp>
#include <vector>

namespace tilescope::transfer {
namespace {

constexpr MatmulShape granularity{64, 128, 16};

std::vector<float> random_values(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  std::vector<float> values(static_cast<std::size_t>(count));
  std::generate(values.begin(), values.end(), [&] { return uniform(generator); });
  return values;
}

ConstMatrixView view(const std::vector<float>& v, std::int64_t rows, std::int64_t columns) {
  return dense_view(static_cast<const void*>(v.data()), DataType::float32, rows, columns);
}
MatrixView view(std::vector<float>& v, std::int64_t rows, std::int64_t columns) {
  return dense_view(static_cast<void*>(v.data()), DataType::float32, rows, columns);
}

TEST(OutOfCorePlan, StaysWithinTheLimitAndCoversTheProduct) {
  std::mt19937 generator(7);
  for (int i = 0; i < 500; ++i) {
    const auto extent = [&] { return static_cast<std::int64_t>(generator() % 20000 + 1); };
    const MatmulShape shape{extent(), extent(), extent()};
    const std::size_t limit = (std::size_t{128} << 10U) << (generator() % 16);
    const OutOfCorePlan plan = plan_out_of_core(shape, granularity, DataType::float32, limit, 2);
    EXPECT_LE(plan.device_bytes, limit);
    EXPECT_EQ(plan.tile.m % granularity.m, 0);
    EXPECT_EQ(plan.tile.n % granularity.n, 0);
    EXPECT_EQ(plan.tile.k % granularity.k, 0);
    EXPECT_GE(plan.tile.m * plan.tiles_down, shape.m);
    EXPECT_GE(plan.tile.n * plan.tiles_across, shape.n);
    EXPECT_GE(plan.tile.k * plan.steps, shape.k);
    EXPECT_LT(plan.tile.m * (plan.tiles_down - 1), shape.m);
  }
}

TEST(OutOfCorePlan, AllInOneTileWhenItFits) {
  const OutOfCorePlan plan =
      plan_out_of_core({1000, 999, 1001}, granularity, DataType::float32, 1U << 30U, 2);
  EXPECT_EQ(plan.tiles(), 1);
  EXPECT_EQ(plan.steps, 1);
}

TEST(OutOfCorePlan, CutsKOnlyWhenItMust) {
  const MatmulShape shape{4096, 4096, 1 << 20};
  EXPECT_EQ(plan_out_of_core(shape, granularity, DataType::float32, std::size_t{4} << 30U, 2).steps,
            1);
  EXPECT_GT(
      plan_out_of_core(shape, granularity, DataType::float32, std::size_t{16} << 20U, 2).steps, 1);
}

TEST(OutOfCorePlan, LimitBelowOneTileSaysWhatItNeeds) {
  try {
    plan_out_of_core({1000, 1000, 1000}, granularity, DataType::float32, 4096, 2);
    FAIL() << "a limit of 4 KiB was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(std::string(error.what()).find("4.00 KiB"), std::string::npos) << error.what();
  }
}

TEST(OutOfCore, CpuTilesGiveTheWholeProduct) {
  const auto device = Device::open("cpu");
  const MatmulShape s{700, 500, 300};
  const std::vector<float> a = random_values(s.m * s.k, 1), b = random_values(s.k * s.n, 2);
  std::vector<float> whole(static_cast<std::size_t>(s.m * s.n)), tiled(whole.size());
  matmul(*device, view(a, s.m, s.k), view(b, s.k, s.n), view(whole, s.m, s.n));
  std::set<std::int64_t> done;
  const OutOfCoreReport report = out_of_core_matmul(
      *device, view(a, s.m, s.k), view(b, s.k, s.n), view(tiled, s.m, s.n),
      {.device_bytes = 700'000, .tile_done = [&](std::int64_t tile) { done.insert(tile); }});
  EXPECT_GT(report.plan.tiles(), 1);
  EXPECT_EQ(static_cast<std::int64_t>(done.size()), report.plan.tiles());
  EXPECT_EQ(whole, tiled) << "to the last bit";
}

TEST(OutOfCore, TheLimitDoesNotChangeABit) {
  const auto device = Device::open("cpu");
  const MatmulShape s{1111, 900, 1300};
  const std::vector<float> a = random_values(s.m * s.k, 3), b = random_values(s.k * s.n, 4);
  std::vector<float> whole(static_cast<std::size_t>(s.m * s.n));
  matmul(*device, view(a, s.m, s.k), view(b, s.k, s.n), view(whole, s.m, s.n));
  std::set<std::int64_t> tiles;
  for (const std::size_t limit : {700'000, 1'500'000, 4'000'000, 1'000'000'000}) {
    std::vector<float> tiled(whole.size());
    const OutOfCoreReport report =
        out_of_core_matmul(*device, view(a, s.m, s.k), view(b, s.k, s.n), view(tiled, s.m, s.n),
                           {.device_bytes = limit});
    EXPECT_EQ(whole, tiled) << limit;
    tiles.insert(report.plan.tiles());
  }
  EXPECT_GE(tiles.size(), 3U) << "the limits must cut differently";
}

TEST(OutOfCore, TilesThatAreDoneAreLeftAlone) {
  const auto device = Device::open("cpu");
  const MatmulShape s{400, 400, 50};
  const std::vector<float> a = random_values(s.m * s.k, 1), b = random_values(s.k * s.n, 2);
  std::vector<float> c(static_cast<std::size_t>(s.m * s.n), 42.0F);
  const OutOfCoreReport report = out_of_core_matmul(
      *device, view(a, s.m, s.k), view(b, s.k, s.n), view(c, s.m, s.n),
      {.device_bytes = 400'000, .is_done = [](std::int64_t tile) { return tile == 0; }});
  ASSERT_GT(report.plan.tiles(), 1);
  EXPECT_EQ(c[0], 42.0F);
  EXPECT_NE(c.back(), 42.0F);
}

TEST(OutOfCore, CancelledBeforeTheFirstTileLeavesCAlone) {
  const auto device = Device::open("cpu");
  const std::vector<float> a(64 * 64, 1.0F);
  std::vector<float> c(64 * 64, 42.0F);
  const OutOfCoreReport report =
      out_of_core_matmul(*device, view(a, 64, 64), view(a, 64, 64), view(c, 64, 64),
                         {.device_bytes = 1U << 20U, .cancelled = [] { return true; }});
  EXPECT_TRUE(report.cancelled);
  EXPECT_EQ(c[0], 42.0F);
}

}  // namespace
}  // namespace tilescope::transfer
