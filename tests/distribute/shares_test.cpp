// How a product is cut among devices and into panels.
#include "distribute/shares.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "distribute/panels.hpp"
#include "operations/gemm/product/memory_product.hpp"

namespace tilescope::distribute {
namespace {

TEST(Shares, EqualWeightsGetEqualWholeUnits) {
  const std::vector<double> two{1.0, 1.0};
  EXPECT_EQ(shares(1024, two, 256), (std::vector<Range>{{0, 512}, {512, 512}}));
  EXPECT_EQ(shares(1000, two, 256), (std::vector<Range>{{0, 512}, {512, 488}}));
}

TEST(Shares, AFasterDeviceGetsMore) {
  const std::vector<double> unequal{3.0, 1.0};
  EXPECT_EQ(shares(1024, unequal, 256), (std::vector<Range>{{0, 768}, {768, 256}}));
}

TEST(Shares, FewRowsAreCutSingly) {
  const std::vector<double> three{1.0, 1.0, 1.0};
  EXPECT_EQ(shares(2, three, 256), (std::vector<Range>{{0, 1}, {1, 0}, {1, 1}}));
  EXPECT_EQ(shares(0, three, 256), (std::vector<Range>{{0, 0}, {0, 0}, {0, 0}}));
}

TEST(Shares, EveryRowBelongsToOneDevice) {
  std::mt19937 generator(5);
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t total = std::uniform_int_distribution<std::int64_t>(0, 5000)(generator);
    const std::int64_t unit = std::uniform_int_distribution<std::int64_t>(1, 300)(generator);
    std::vector<double> weights(std::uniform_int_distribution<std::size_t>(1, 9)(generator));
    for (double& weight : weights) weight = std::uniform_real_distribution(0.1, 8.0)(generator);
    std::int64_t next = 0;
    for (const Range& range : shares(total, weights, unit)) {
      EXPECT_EQ(range.first, next);
      EXPECT_GE(range.count, 0);
      next = range.end();
    }
    EXPECT_EQ(next, total) << "unit " << unit;
  }
}

TEST(Panels, CoverTheColumns) {
  for (const std::int64_t columns : {0, 1, 255, 256, 257, 1100, 8192, 16384, 16385, 100000}) {
    for (const std::int64_t least : {0, 1000, 200000}) {
      std::int64_t next = 0;
      for (const Range& panel : panels_of(columns, least)) {
        EXPECT_EQ(panel.first, next) << columns;
        EXPECT_GT(panel.count, 0) << columns;
        next = panel.end();
        if (next < columns) {
          EXPECT_GE(panel.count, std::max(least, columns / 8));
        }
      }
      EXPECT_EQ(next, columns);
    }
  }
  EXPECT_EQ(panels_of(4096, 0).size(), 8U);
  EXPECT_EQ(panels_of(4096, 1100),
            (std::vector<Range>{{0, 1280}, {1280, 1280}, {2560, 1280}, {3840, 256}}));
}

TEST(Panels, MayGrow) {
  using Widths = std::vector<std::int64_t>;
  const auto widths = [](std::int64_t columns, std::int64_t least, const PanelPlan& plan) {
    Widths all;
    for (const Range& panel : panels_of(columns, least, plan)) all.push_back(panel.count);
    return all;
  };
  const PanelPlan doubled{.first = 8, .growth = 2, .widest = 1},
      bounded{.first = 16, .growth = 2, .widest = 4};
  EXPECT_EQ(widths(8192, 0, doubled), (Widths{1024, 2048, 5120}));
  EXPECT_EQ(widths(8192, 3000, doubled), (Widths{3072, 5120}));
  EXPECT_EQ(widths(8192, 9000, doubled), (Widths{8192}));
  EXPECT_EQ(widths(8192, 0, bounded), (Widths{512, 1024, 2048, 2048, 2048, 512}));
  EXPECT_EQ(widths(8192, 0, {.first = 16, .growth = 3, .widest = 1}), (Widths{512, 1536, 6144}));
  EXPECT_EQ(widths(300, 0, doubled), (Widths{300}));
  EXPECT_EQ(widths(0, 0, doubled), Widths{});
}

TEST(Panels, RowsArriveInParts) {
  const auto t4 = Device::open("emulated:t4");
  const auto parts = [&](MatmulShape panel, DataType type, const char* variant) {
    const operations::GemmProblem problem{.shape = panel,
                                          .a = {.type = type, .leading = panel.k},
                                          .b = {.type = type, .leading = panel.n},
                                          .c = {.type = type, .leading = panel.n}};
    return parts_of_rows(operations::choose_for_parts(problem, *t4, variant), problem,
                         t4->properties());
  };
  EXPECT_EQ(parts({2048, 512, 3}, DataType::float32, "general"), 2);
  EXPECT_EQ(parts({20000, 2048, 3}, DataType::float32, "general"), 4);
  EXPECT_EQ(parts({2048, 256, 3}, DataType::float32, "general"), 1) << "too little for the SMs";
  EXPECT_EQ(parts({300, 20000, 3}, DataType::float32, "general"), 1) << "one tile high";
}

TEST(Panels, PiecesFollowTheRowsThatArrive) {
  const auto text = [](const std::vector<Piece>& pieces) {
    std::string all;
    for (const Piece& piece : pieces) {
      all += fmt::format("{}+{}:{} ", piece.parts.first, piece.parts.count, piece.panel);
    }
    return all;
  };
  EXPECT_EQ(text(pieces_of(1, 3, 2)), "0+1:0 0+1:1 0+1:2 ");
  EXPECT_EQ(text(pieces_of(3, 4, 2)), "0+1:0 0+1:1 1+1:0 1+1:1 2+1:0 2+1:1 0+3:2 0+3:3 ");
  EXPECT_EQ(text(pieces_of(2, 1, 2)), "0+1:0 1+1:0 ");
}

TEST(PieceOfRows, IsAQuarterOrLessOfBAndPartOfEachShare) {
  const auto piece = [](std::vector<Range> shares, std::int64_t k) {
    return piece_of_rows(shares, k);
  };
  EXPECT_EQ(piece({{0, 4096}, {4096, 4096}}, 8192), 2048);
  EXPECT_EQ(piece({{0, 384}, {384, 384}}, 768), 128) << "192 is no whole unit";
  EXPECT_EQ(piece({{0, 128}, {128, 7}}, 135), 128);
  EXPECT_EQ(piece({{0, 256}, {256, 0}, {256, 512}, {768, 300}}, 1068), 256);
  EXPECT_EQ(piece({{0, 100}, {100, 100}}, 200), 0);
  EXPECT_EQ(piece({{0, 512}, {512, 0}}, 512), 0) << "all of B is with one";
}

}  // namespace
}  // namespace tilescope::distribute
