// Products over several emulated GPUs: matrices in host memory, and shards in the devices'.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tilescope/gemm.hpp>
#include <tilescope/pinned.hpp>
#include <tilescope/sharded.hpp>

#include "device/emulated/emulated_device.hpp"
#include "distribute/sharded_product.hpp"
#include "operations/gemm/hopper/tensor_tile_choice.hpp"
#include "support/matrices.hpp"
#include "support/public_gemm.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope {
namespace {

using testing::error_of;
using testing::GemmCase;
using testing::GemmMatrices;
using ::testing::HasSubstr;
using testing::TestMatrix;

using Devices = std::vector<std::shared_ptr<Device>>;

/// C after the call for several devices; its problem has one matrix and a bias for each column.
GemmMatrices sharded(const Devices& devices, const GemmCase& of) {
  GemmMatrices c = of.c;
  const auto view = [](const GemmMatrices& m) {
    return ConstMatrixView{.data = m.image().data() + m.first(),
                           .type = m.operand().type,
                           .rows = m.rows(),
                           .columns = m.columns(),
                           .order = m.operand().order,
                           .leading = m.operand().leading};
  };
  const operations::GemmProblem& p = of.problem;
  matmul_sharded(devices, view(of.a), view(of.b), MatrixView{view(c)},
                 {.precision = p.precision,
                  .alpha = p.alpha,
                  .beta = p.beta,
                  .bias = of.bias,
                  .activation = p.activation});
  return c;
}

class Sharded : public ::testing::TestWithParam<const char*> {};

TEST_P(Sharded, RandomProblemsInHostMemory) {
  const Devices devices = open_devices(GetParam());
  int tried = 0;
  for (const GemmCase& of : testing::random_gemms(120, 31)) {
    if (of.problem.batch != 1 || of.problem.bias_per_row) continue;
    SCOPED_TRACE(of.text);
    ++tried;
    EXPECT_EQ(testing::defects(of, sharded(devices, of), true), "");
  }
  EXPECT_GT(tried, 20);
}

INSTANTIATE_TEST_SUITE_P(Devices, Sharded,
                         ::testing::Values("emulated", "emulated,emulated",
                                           "emulated,emulated:t4,emulated"),
                         [](const auto& of) {
                           const std::string_view list = of.param;
                           return fmt::format("of{}",
                                              std::count(list.begin(), list.end(), ',') + 1);
                         });

/// A product in host memory on `devices`, as bytes.
std::vector<float> product_on(const Devices& devices, const MatmulShape& s, Order c_order,
                              const MatmulOptions& options, std::int64_t panels = 1) {
  TestMatrix a(DataType::float32, s.m, s.k), b(DataType::float32, s.k, s.n, Order::column_major),
      c(DataType::float32, s.m, s.n, c_order);
  a.fill_random(1);
  b.fill_random(2);
  c.fill_random(3);
  // Copies from and to pinned memory are only queued: a forgotten order shows.
  std::vector<PinnedRegion> pinned;
  for (const auto& device : devices) {
    for (const MatrixView* view : {&a.view(), &b.view(), &c.view()}) {
      const auto elements = static_cast<std::size_t>(view->vectors() * view->leading);
      pinned.emplace_back(*device, view->data, elements * sizeof(float));
      EXPECT_TRUE(pinned.back().pinned()) << pinned.back().note();
    }
  }
  if (devices.size() == 1) {
    matmul(*devices.front(), a.view(), b.view(), c.view(), options);
  } else {
    EXPECT_EQ(matmul_sharded(devices, a.view(), b.view(), c.view(), options).panels, panels);
  }
  std::vector<float> values;
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t j = 0; j < s.n; ++j) values.push_back(static_cast<float>(c.get(i, j)));
  }
  return values;
}

TEST(Sharded, BitsAreThoseOfOneDevice) {
  const Devices one = open_devices("emulated"), three = open_devices("emulated,emulated,emulated");
  const MatmulShape shape{70, 600, 90};
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::tf32}) {
    for (const Order order : {Order::row_major, Order::column_major}) {
      const MatmulOptions options{.variant = precision == Precision::fp32 ? "general" : "mma_sync",
                                  .precision = precision};
      EXPECT_EQ(product_on(one, shape, order, options), product_on(three, shape, order, options))
          << name_of(precision);
    }
  }
}

TEST(Sharded, MorePanelsThanBuffers) {
  // A T4 has so few SMs that they have work in a panel of this product.
  const Devices one = open_devices("emulated:t4"),
                three = open_devices("emulated:t4,emulated:t4,emulated:t4");
  const MatmulShape shape{3600, 3600, 3};
  for (const Order order : {Order::row_major, Order::column_major}) {
    EXPECT_EQ(product_on(one, shape, order, {.variant = "general"}),
              product_on(three, shape, order, {.variant = "general"}, 5));
  }
}

TEST(Sharded, RowsThatArriveInParts) {
  // Panels.RowsArriveInParts says that these do.
  const Devices one = open_devices("emulated:t4"), two = open_devices("emulated:t4,emulated:t4");
  std::vector<float> bias(4096);
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i % 100);
  const auto with_bias = [&](std::size_t columns) {
    return MatmulOptions{.variant = "general", .beta = 0.5, .bias = std::span(bias).first(columns)};
  };
  // No third panel, whose exchange waits for all of A.
  const MatmulShape of_two{5000, 1024, 3}, of_eight{4096, 4096, 3};
  EXPECT_EQ(product_on(one, of_two, Order::row_major, with_bias(1024)),
            product_on(two, of_two, Order::row_major, with_bias(1024), 2));
  for (const Order order : {Order::row_major, Order::column_major}) {
    EXPECT_EQ(product_on(one, of_eight, order, with_bias(4096)),
              product_on(two, of_eight, order, with_bias(4096), 8));
  }
}

TEST(Sharded, ABiasOfATransposedProduct) {
  const Devices one = open_devices("emulated"), two = open_devices("emulated,emulated");
  std::vector<float> bias(600);
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i);
  const MatmulOptions options{.variant = "general", .bias = bias};
  for (const Order order : {Order::row_major, Order::column_major}) {
    EXPECT_EQ(product_on(one, {300, 600, 20}, order, options),
              product_on(two, {300, 600, 20}, order, options));
  }
}

/// A product of 300 x 600 x 20 in host memory.
ShardedReport small_product(const Devices& devices) {
  TestMatrix a(DataType::float32, 300, 20), b(DataType::float32, 20, 600),
      c(DataType::float32, 300, 600);
  a.fill_random(1);
  b.fill_random(2);
  return matmul_sharded(devices, a.view(), b.view(), c.view(), {.variant = "general"});
}

TEST(Sharded, MemoryComesBackWhateverHappens) {
  const Devices two = open_devices("emulated,emulated");
  std::size_t before[2];
  for (std::size_t i = 0; i < 2; ++i) before[i] = two[i]->memory_use().free_bytes;
  const auto expect_all = [&](const std::string& when) {
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(two[i]->memory_use().free_bytes, before[i]) << when << ", device " << i;
    }
  };
  small_product(two);
  expect_all("after a product");
  auto& second = static_cast<device::EmulatedDevice&>(*two[1]);
  int failures = 0;
  for (std::uint64_t bytes = 1; bytes < std::uint64_t{1} << 22U; bytes *= 2) {
    second.set_options({.device_memory = bytes});
    try {
      small_product(two);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::no_device) << error.what();
      EXPECT_THAT(error.what(), HasSubstr("bytes"));
      ++failures;
    }
    second.set_options({});
    expect_all(fmt::format("where one device has {} bytes", bytes));
  }
  EXPECT_GT(failures, 15);
  EXPECT_LT(failures, 22) << "some are enough";
}

TEST(Sharded, TimesAreInOrder) {
  const ShardedReport report = small_product(open_devices("emulated,emulated"));
  const HostTimes& t = report.times;
  EXPECT_GT(t.planned, 0.0);
  EXPECT_LT(t.planned, t.allocated);
  EXPECT_LT(t.allocated, t.prepared);
  EXPECT_LE(t.prepared, t.copying);
  EXPECT_LE(t.copying, t.multiplying);
  EXPECT_LT(t.multiplying, t.multiplied);
  EXPECT_LE(t.multiplied, t.downloaded);
  EXPECT_LT(t.downloaded, t.freed);
  EXPECT_GT(report.product.compute_ms, 0.0);
  EXPECT_LE(report.product.compute_ms, t.multiplied);
}

/// Shards of integers in the memory of devices, so that every sum is exact. C is float32.
struct Shards {
  std::vector<Buffer> memory;
  std::vector<ConstMatrixView> a, b;
  std::vector<MatrixView> c;
  TestMatrix whole_a, whole_b;

  Shards(const Devices& devices, const MatmulShape& s, const std::vector<std::int64_t>& rows,
         const std::vector<std::int64_t>& depths, DataType type = DataType::float32,
         DataType c_type = DataType::float32)
      : whole_a(type, s.m, s.k), whole_b(type, s.k, s.n) {
    whole_a.fill_integers(3);
    whole_b.fill_integers(4);
    std::int64_t row = 0, depth = 0;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      a.push_back(placed(*devices[i], whole_a.view(), row, rows[i]));
      b.push_back(placed(*devices[i], whole_b.view(), depth, depths[i]));
      c.push_back({placed(*devices[i], TestMatrix(c_type, rows[i], s.n).view(), 0, rows[i])});
      row += rows[i];
      depth += depths[i];
    }
  }
  ConstMatrixView placed(Device& device, const MatrixView& whole, std::int64_t first,
                         std::int64_t count) {
    const std::size_t row = static_cast<std::size_t>(whole.columns) * size_of(whole.type);
    memory.push_back(device.allocate(static_cast<std::size_t>(count) * row, "a shard"));
    const DeviceAddress at = memory.back().address();
    device.copy_to_device(
        at, static_cast<const std::byte*>(whole.data) + static_cast<std::size_t>(first) * row,
        static_cast<std::size_t>(count) * row);
    return dense_view(reinterpret_cast<const void*>(at), whole.type, count, whole.columns);
  }
  /// C's bytes, which are overwritten then.
  std::vector<std::byte> taken(const Devices& devices) const {
    std::vector<std::byte> all;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const std::size_t bytes =
          static_cast<std::size_t>(c[i].rows * c[i].columns) * size_of(c[i].type);
      const auto at = reinterpret_cast<DeviceAddress>(c[i].data);
      all.resize(all.size() + bytes);
      devices[i]->synchronize();
      devices[i]->copy_to_host(all.data() + all.size() - bytes, at, bytes);
      devices[i]->fill(at, 0xFF, bytes);
    }
    return all;
  }
  /// The number of wrong elements of a float32 C, of every `step`-th of a row.
  int wrong(const Devices& devices, std::int64_t step = 1) const {
    int wrong = 0;
    std::int64_t row = 0;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const MatrixView& shard = c[i];
      std::vector<float> values(static_cast<std::size_t>(shard.rows * shard.columns));
      devices[i]->synchronize();
      devices[i]->copy_to_host(values.data(), reinterpret_cast<DeviceAddress>(shard.data),
                               values.size() * sizeof(float));
      for (std::int64_t r = 0; r < shard.rows; ++r, ++row) {
        for (std::int64_t j = row % step; j < shard.columns; j += step) {
          double sum = 0.0;
          for (std::int64_t k = 0; k < whole_a.view().columns; ++k) {
            sum += whole_a.get(row, k) * whole_b.get(k, j);
          }
          wrong += values[static_cast<std::size_t>(r * shard.columns + j)] != sum;
        }
      }
    }
    return wrong;
  }
};

TEST(ShardedGemm, ShardsOfAnySize) {
  const Devices devices = open_devices("emulated,emulated,emulated");
  const MatmulShape shape{40, 1500, 33};
  for (const auto& [rows, depths] :
       {std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>{{13, 13, 14}, {11, 11, 11}},
        {{0, 39, 1}, {33, 0, 0}},
        {{40, 0, 0}, {0, 1, 32}}}) {
    Shards shards(devices, shape, rows, depths);
    ShardedGemm product(devices, shards.a, shards.b, shards.c);
    EXPECT_EQ(product.report().panels, 1) << "too few rows to fill the SMs with less";
    EXPECT_FALSE(product.report().is_direct) << "emulated GPUs have no link";
    std::vector<Stream> streams;
    for (const auto& device : devices) streams.push_back(device->create_stream());
    product.launch(streams);
    EXPECT_EQ(shards.wrong(devices), 0);
  }
}

TEST(ShardedGemm, AgainWithOtherContents) {
  const Devices devices = open_devices("emulated,emulated");
  Shards shards(devices, {20, 600, 30}, {10, 10}, {15, 15});
  ShardedGemm product(devices, shards.a, shards.b, shards.c);
  product.launch();
  EXPECT_EQ(shards.wrong(devices), 0);
  // What is queued behind a launch neither precedes its reads nor misses its results.
  for (int i = 0; i < 2; ++i) {
    devices[0]->fill(reinterpret_cast<DeviceAddress>(shards.b[0].data), 0,
                     15 * 600 * sizeof(float));
    if (i == 0) product.launch();
  }
  EXPECT_GT(shards.wrong(devices), 0) << "half of B was zero";
}

TEST(ShardedGemm, PanelsThatGrowAndComeByTwoEngines) {
  // A T4 has so few SMs that they have work in a panel of this product.
  const Devices devices = open_devices("emulated:t4,emulated:t4");
  Shards shards(devices, {2000, 3600, 5}, {1000, 1000}, {2, 3});
  const distribute::ShardedProblem problem =
      distribute::sharded_problem(devices, shards.a, shards.b, shards.c, {.variant = "general"});
  for (const auto& [plan, panels] :
       {std::pair{distribute::PanelPlan{.first = 8, .growth = 2, .widest = 1, .engines = 2}, 2},
        {{.first = 8, .growth = 2, .widest = 3, .engines = 3}, 4}}) {
    distribute::ShardedProduct product(problem, "general", distribute::Rows::there, Reach::any,
                                       plan);
    product.prepare();
    for (std::size_t i = 0; i < devices.size(); ++i) {
      devices[i]->fill(problem.shards[i].at.c, 0, 1000 * 3600 * sizeof(float));
    }
    product.launch({});
    EXPECT_EQ(shards.wrong(devices), 0);
    EXPECT_EQ(product.report().panels, panels);
  }
}

// Shares of B that begin at multiples of 128 rows: each device multiplies its own where it lies,
// and one launch awaits the others'.
TEST(ShardedGemm, OneLaunchAwaitsTheOthersRowsOfB) {
  const Devices devices = open_devices("emulated:h200,emulated:h200");
  Shards shards(devices, {4096, 2568, 264}, {2048, 2048}, {128, 136}, DataType::bfloat16);
  const distribute::ShardedProblem problem = distribute::sharded_problem(
      devices, shards.a, shards.b, shards.c, {.precision = Precision::bf16});
  for (const bool awaits : {true, false}) {
    distribute::ShardedProduct product(problem, "tensor_tiles", distribute::Rows::there, Reach::any,
                                       {.awaits_columns = awaits});
    product.prepare();
    for (std::size_t i = 0; i < devices.size(); ++i) {
      devices[i]->fill(problem.shards[i].at.c, 0, 2048 * 2568 * sizeof(float));
    }
    product.launch({});
    EXPECT_EQ(shards.wrong(devices, 61), 0);
    EXPECT_EQ(product.report().panels, 3);
    EXPECT_EQ(product.awaits_columns(), awaits);
  }
}

// A transposed tile has B for its rows. One with a narrow end does not end where panels of B do.
TEST(ShardedGemm, OneLaunchOfTransposedAndOfNarrowTilesAwaitsTheOthersRowsOfB) {
  const Devices devices = open_devices("emulated:h200,emulated:h200");
  for (const MatmulShape& shape : {MatmulShape{3840, 2568, 264}, {4096, 2568, 264}}) {
    Shards shards(devices, shape, {shape.m / 2, shape.m / 2}, {128, 136}, DataType::bfloat16,
                  DataType::bfloat16);
    const distribute::ShardedProblem problem = distribute::sharded_problem(
        devices, shards.a, shards.b, shards.c, {.precision = Precision::bf16});
    const operations::TensorTile tile =
        operations::tensor_tile_candidates(problem.whole, devices[0]->properties()).front();
    ASSERT_EQ(tile.transposed, shape.m == 3840);
    ASSERT_NE(tile.n % 64, 0);
    std::vector<std::byte> results[2];
    for (const bool awaits : {true, false}) {
      distribute::ShardedProduct product(problem, "tensor_tiles", distribute::Rows::there,
                                         Reach::any, {.awaits_columns = awaits});
      product.prepare();
      EXPECT_EQ(product.awaits_columns(), awaits);
      product.launch({});
      results[awaits ? 1 : 0] = shards.taken(devices);
    }
    EXPECT_TRUE(results[0] == results[1]);
  }
}

TEST(ShardedGemm, ANamedKernelNeedNotTakeBAsItLies) {
  const Devices devices = open_devices("emulated:h200,emulated:h200");
  Shards shards(devices, {64, 67, 64}, {32, 32}, {32, 32}, DataType::bfloat16);
  const MatmulOptions options{.variant = "wgmma", .precision = Precision::bf16};
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] {
                         PreparedGemm(*devices[0], shards.a[0],
                                      dense_view(shards.b[0].data, DataType::bfloat16, 64, 67),
                                      shards.c[0], options);
                       }),
              HasSubstr("variant wgmma"));
  ShardedGemm product(devices, shards.a, shards.b, shards.c, options);
  product.launch();
  EXPECT_EQ(shards.wrong(devices), 0);
}

TEST(ShardedGemm, ReceivedBytes) {
  const Devices devices = open_devices("emulated,emulated");
  Shards shards(devices, {20, 600, 30}, {10, 10}, {20, 10});
  const ShardedGemm product(devices, shards.a, shards.b, shards.c);
  EXPECT_EQ(product.report().received_bytes, 20 * 600 * sizeof(float))
      << "the second's from the first";
}

TEST(ShardedGemm, RefusesWhatDoesNotFit) {
  const Devices devices = open_devices("emulated,emulated");
  Shards shards(devices, {20, 64, 30}, {10, 10}, {15, 15});
  const auto refusal = [&](auto&& change, const Devices& on, const MatmulOptions& options = {}) {
    auto a = shards.a, b = shards.b;
    auto c = shards.c;
    change(a, b, c);
    return error_of(ErrorKind::usage, [&] { ShardedGemm(on, a, b, c, options); });
  };
  const auto nothing = [](auto&, auto&, auto&) {};
  EXPECT_THAT(refusal(nothing, {}), HasSubstr("at least one device"));
  EXPECT_THAT(refusal(nothing, {devices[0]}), HasSubstr("1 devices have 2 shards of A"));
  EXPECT_THAT(refusal(nothing, open_devices("cpu,cpu")), HasSubstr("the cpu device takes no part"));
  EXPECT_THAT(refusal(nothing, devices, {.variant = "tiled_16"}),
              HasSubstr("tiled_16 is for whole products"));
  EXPECT_THAT(refusal([](auto&, auto& b, auto&) { b[1].rows = 14; }, devices),
              HasSubstr("20 x 30"));
  EXPECT_THAT(refusal(
                  [](auto& a, auto&, auto& c) {
                    std::swap(a[0].rows, c[1].rows);
                    a[0].rows = 9;
                    a[1].rows = 11;
                  },
                  devices),
              HasSubstr("device 0 has 9 rows of A and 10 of C"));
  EXPECT_THAT(refusal([](auto& a, auto&, auto&) { a[1].columns = 29; }, devices),
              HasSubstr("all shards of a matrix need the same"));
  EXPECT_THAT(refusal([](auto&, auto&, auto& c) { c[0].order = Order::column_major; }, devices),
              HasSubstr("C is column-major"));
  EXPECT_THAT(refusal([](auto& a, auto&, auto& c) { c[1].data = a[1].data; }, devices),
              HasSubstr("shard 1 of C shares memory"));
  ShardedGemm product(devices, shards.a, shards.b, shards.c);
  const Stream stream = devices[0]->create_stream();
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] {
                         product.launch({&stream, 1});
                       }),
              HasSubstr("1 streams for 2 devices"));
}

TEST(OpenDevices, Lists) {
  EXPECT_EQ(open_devices("emulated,cpu").size(), 2U);
  EXPECT_THAT(error_of(ErrorKind::usage, [] { open_devices(""); }), HasSubstr("no such device"));
  EXPECT_THAT(error_of(ErrorKind::usage, [] { open_devices("emulated,nothing"); }),
              HasSubstr("no such device"));
}

}  // namespace
}  // namespace tilescope
