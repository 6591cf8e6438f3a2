// The further division of a product in tiles; no division changes a bit.
#include "transfer/tiled_product.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <tilescope/error.hpp>
#include <tilescope/matmul.hpp>
#include <vector>

#include "transfer/out_of_core.hpp"

namespace tilescope::transfer {
namespace {

std::vector<float> random_factor(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  std::vector<float> values(static_cast<std::size_t>(count));
  std::generate(values.begin(), values.end(), [&] { return uniform(generator); });
  return values;
}

TEST(GrowingSides, GrowByUnitsFromASixteenthToAll) {
  EXPECT_EQ(growing_sides(16384, 256),
            (std::vector<std::int64_t>{1024, 1536, 2304, 3584, 5376, 8192, 12288, 16384}));
  EXPECT_EQ(growing_sides(100, 256), std::vector<std::int64_t>{100});
  EXPECT_EQ(growing_sides(1, 1), std::vector<std::int64_t>{1});
  for (std::int64_t extent = 1; extent < 3000; extent += 7) {
    const std::vector<std::int64_t> sides = growing_sides(extent, 64);
    EXPECT_EQ(sides.back(), extent);
    for (std::size_t i = 0; i + 1 < sides.size(); ++i) {
      EXPECT_EQ(sides[i] % 64, 0);
      EXPECT_LT(sides[i], sides[i + 1]);
    }
  }
}

TEST(Bands, CoverAllRowsAndEndShort) {
  const auto rows_of = [](std::int64_t rows, std::int64_t unit) {
    std::vector<std::int64_t> result;
    std::int64_t next = 0;
    for (const Piece& band : bands_of(rows, 5, unit)) {
      EXPECT_EQ(band.row, next);
      EXPECT_EQ(band.row % unit, 0);
      EXPECT_EQ(band.column, 0);
      EXPECT_EQ(band.columns, 5);
      next += band.rows;
      result.push_back(band.rows);
    }
    EXPECT_EQ(next, rows);
    return result;
  };
  EXPECT_EQ(rows_of(16384, 256), (std::vector<std::int64_t>{8192, 4096, 2048, 2048}));
  EXPECT_EQ(rows_of(100, 256), std::vector<std::int64_t>{100});
  EXPECT_EQ(rows_of(257, 256), (std::vector<std::int64_t>{256, 1}));
  for (std::int64_t rows = 1; rows < 2000; rows += 13) rows_of(rows, 64);
}

// C of a product of the emulated device, in tiles of at most `limit` bytes or at once (0).
struct Product {
  MatmulShape shape;
  Order a_order = Order::row_major, b_order = Order::row_major, c_order = Order::row_major;
  std::string variant;

  std::vector<float> compute(std::size_t limit, OutOfCoreReport* report = nullptr,
                             OutOfCoreOptions options = {}) const {
    const auto device = Device::open("emulated");
    const std::vector<float> a = random_factor(shape.m * shape.k, 1);
    const std::vector<float> b = random_factor(shape.k * shape.n, 2);
    std::vector<float> c(static_cast<std::size_t>(shape.m * shape.n), 42.0F);
    const ConstMatrixView a_view = dense_view(static_cast<const void*>(a.data()), DataType::float32,
                                              shape.m, shape.k, a_order);
    const ConstMatrixView b_view = dense_view(static_cast<const void*>(b.data()), DataType::float32,
                                              shape.k, shape.n, b_order);
    const MatrixView c_view =
        dense_view(static_cast<void*>(c.data()), DataType::float32, shape.m, shape.n, c_order);
    if (limit == 0) {
      matmul(*device, a_view, b_view, c_view, {.variant = variant});
    } else {
      options.device_bytes = limit;
      options.variant = variant;
      const OutOfCoreReport done = out_of_core_matmul(*device, a_view, b_view, c_view, options);
      if (report) *report = done;
    }
    return c;
  }
};

TEST(TiledProduct, NoCutChangesABit) {
  constexpr Order by_rows = Order::row_major, by_columns = Order::column_major;
  // The tiles of ffma_tiles are larger.
  const std::vector<std::size_t> small{200'000, 600'000, 10'000'000};
  const std::vector<std::size_t> large{1'500'000, 10'000'000};
  for (const auto& [product, limits] :
       {std::pair{Product{{333, 260, 100}, by_rows, by_rows, by_rows, "general"}, small},
        std::pair{Product{{300, 417, 70}, by_columns, by_rows, by_columns, "general"}, small},
        std::pair{Product{{210, 300, 90}, by_rows, by_columns, by_rows, "general"}, small},
        std::pair{Product{{200, 300, 100}, by_columns, by_columns, by_columns, "warp_tiles"},
                  small},
        std::pair{Product{{600, 700, 40}, by_rows, by_rows, by_rows, "ffma_tiles"}, large},
        std::pair{Product{{600, 500, 301}, by_columns, by_rows, by_rows, "short_k"}, large},
        std::pair{Product{{400, 530, 130}, by_rows, by_columns, by_columns, "short_k"}, large},
        std::pair{Product{{200, 300, 400}, by_rows, by_rows, by_rows, ""}, small}}) {
    const std::vector<float> whole = product.compute(0);
    std::set<std::int64_t> tiles;
    for (const std::size_t limit : limits) {
      OutOfCoreReport report;
      EXPECT_EQ(product.compute(limit, &report), whole) << product.variant << ' ' << limit;
      EXPECT_LE(report.plan.device_bytes, limit);
      tiles.insert(report.plan.tiles());
    }
    EXPECT_GE(tiles.size(), 2U) << "the limits must cut differently";
  }
}

TEST(TiledProduct, TilesThatAreDoneAreLeftAloneWhereverTheyLie) {
  const Product product{{300, 300, 64}, {}, {}, {}, "general"};
  const std::vector<float> whole = product.compute(0);
  OutOfCoreReport report;
  product.compute(250'000, &report);
  const OutOfCorePlan& plan = report.plan;
  ASSERT_GE(plan.tiles(), 4);
  for (std::int64_t left_out = 0; left_out < plan.tiles(); ++left_out) {
    std::set<std::int64_t> done;
    const std::vector<float> c = product.compute(
        250'000, nullptr,
        {.is_done = [&](std::int64_t tile) { return tile == left_out; },
         .tile_done = [&](std::int64_t tile) { EXPECT_TRUE(done.insert(tile).second); }});
    EXPECT_EQ(static_cast<std::int64_t>(done.size()), plan.tiles() - 1);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < 300; ++i) {
      for (std::int64_t j = 0; j < 300; ++j) {
        const auto at = static_cast<std::size_t>(i * 300 + j);
        const bool kept = i / plan.tile.m * plan.tiles_across + j / plan.tile.n == left_out;
        wrong += c[at] != (kept ? 42.0F : whole[at]);
      }
    }
    EXPECT_EQ(wrong, 0) << left_out;
  }
}

TEST(TiledProduct, WhatTheCallbackThrowsArrives) {
  const Product product{{300, 300, 64}, {}, {}, {}, "general"};
  EXPECT_THROW(product.compute(250'000, nullptr,
                               {.tile_done =
                                    [](std::int64_t) {
                                      throw Error(ErrorKind::bad_input, "the disk is full");
                                    }}),
               Error);
}

TEST(TiledProduct, WhatIsComputedWhenItIsCancelledComesDown) {
  const Product product{{300, 300, 64}, {}, {}, {}, "general"};
  int asked = 0, done = 0;
  OutOfCoreReport report;
  product.compute(
      250'000, &report,
      {.tile_done = [&](std::int64_t) { ++done; }, .cancelled = [&] { return ++asked > 2; }});
  EXPECT_TRUE(report.cancelled);
  EXPECT_EQ(done, 2);
}

}  // namespace
}  // namespace tilescope::transfer
