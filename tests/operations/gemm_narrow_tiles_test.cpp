// Products whose C is narrow: which operand is the long one, the tiles of problems, refusals, and
// that the kernel compiles.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "operations/gemm/dispatch/gemm_variants.hpp"
#include "operations/gemm/hopper/narrow_tiles.hpp"
#include "operations/gemm/product/memory_product.hpp"
#include "support/gemm_kernels.hpp"

namespace tilescope::operations {
namespace {

using ::testing::HasSubstr;
using testing::hopper;
using ::testing::Not;

GemmProblem narrow_product(std::int64_t m, std::int64_t n, std::int64_t k,
                           Order a_order = Order::row_major, Order b_order = Order::row_major,
                           Precision precision = Precision::bf16) {
  const DataType type = operand_type(precision);
  return dense_problem({m, n, k}, precision, type, type, a_order, b_order);
}

std::string narrow_refusal(const GemmProblem& problem) {
  return narrow_tiles_refusal(problem, hopper()).value_or("");
}

TEST(NarrowLayout, TheLargerExtentOfCIsTheLongOne) {
  const NarrowLayout wide = narrow_layout(narrow_product(16, 8192, 4096));
  EXPECT_TRUE(wide.long_is_b);
  EXPECT_EQ(wide.long_rows, 8192);
  EXPECT_EQ(wide.narrow_rows, 16);
  EXPECT_TRUE(wide.of_long.mn_major) << "columns of a row-major B lie across k";
  EXPECT_EQ(wide.of_long.rows.rows, 4096);
  EXPECT_EQ(wide.of_long.rows.columns, 8192);
  EXPECT_FALSE(wide.of_narrow.mn_major);

  const NarrowLayout tall =
      narrow_layout(narrow_product(8192, 16, 4096, Order::column_major, Order::column_major));
  EXPECT_FALSE(tall.long_is_b);
  EXPECT_EQ(tall.long_rows, 8192);
  EXPECT_TRUE(tall.of_long.mn_major);
  EXPECT_FALSE(tall.of_narrow.mn_major);
  EXPECT_EQ(tall.of_narrow.rows.rows, 16);
}

// More tiles leave fewer SMs to share the work along k.
TEST(NarrowTiles, PartsThatCutKOtherwiseAreNotAlike) {
  const GemmProblem whole = narrow_product(16, 8192, 8192);
  const DeviceChoice choice{.kernel = {.variant = find_gemm_variant("narrow_tiles")},
                            .problem = whole};
  EXPECT_TRUE(choose_alike(choice, narrow_product(16, 8192, 8192), hopper()));
  const GemmProblem part = narrow_product(16, 1024, 8192);
  ASSERT_NE(narrow_tile(whole, hopper()).cluster, narrow_tile(part, hopper()).cluster);
  EXPECT_FALSE(choose_alike(choice, part, hopper()));
}

TEST(NarrowLayout, ADenseVectorLiesAlongK) {
  const NarrowLayout column = narrow_layout(narrow_product(512, 1, 1001));
  EXPECT_FALSE(column.of_narrow.mn_major);
  EXPECT_EQ(column.of_narrow.rows.rows, 1);
  EXPECT_EQ(column.of_narrow.rows.columns, 1001);
  GemmProblem spread = narrow_product(512, 1, 1000);
  spread.b.leading = 8;
  EXPECT_TRUE(narrow_layout(spread).of_narrow.mn_major);
}

TEST(NarrowTiles, EveryTileFitsTheChipAndCoversTheNarrowOperand) {
  for (const MatmulShape s :
       {MatmulShape{1, 1, 1}, MatmulShape{16, 8192, 8192}, MatmulShape{8192, 64, 8192},
        MatmulShape{33, 100, 50000}, MatmulShape{64, 128256, 4096}, MatmulShape{3, 64, 16}}) {
    for (const Order order : {Order::row_major, Order::column_major}) {
      const GemmProblem problem = narrow_product(s.m, s.n, s.k, order, order);
      const NarrowTile tile = narrow_tile(problem, hopper());
      SCOPED_TRACE(fmt::format("{} for {} x {} x {}", text_of(tile), s.m, s.n, s.k));
      EXPECT_LE(shared_bytes_of(tile, narrow_layout(problem)),
                hopper().shared_bytes_per_block_optin);
      EXPECT_GE(tile.stages, 3);
      EXPECT_LE(tile.narrow, 64);
      EXPECT_GE(tile.narrow, std::min(s.m, s.n));
      EXPECT_LE(tile.rows(), 256) << "rows of a box";
      EXPECT_LE(tile.groups * tile.narrow / 2, 128) << "sums of a thread";
    }
  }
}

TEST(NarrowTiles, KIsCutWhereTilesAreFewerThanSms) {
  EXPECT_GT(narrow_tile(narrow_product(16, 512, 65536), hopper()).cluster, 1);
  EXPECT_EQ(narrow_tile(narrow_product(16, 512, 128), hopper()).cluster, 1) << "nothing to cut";
  EXPECT_EQ(narrow_tile(narrow_product(16, 128256, 4096), hopper()).cluster, 1);
}

TEST(NarrowTilesRefusal, SaysWhatItDoesNotTake) {
  EXPECT_EQ(narrow_refusal(narrow_product(64, 8192, 512)), "");
  EXPECT_EQ(narrow_refusal(narrow_product(8192, 64, 512)), "");
  EXPECT_THAT(narrow_refusal(narrow_product(65, 72, 64)), HasSubstr("not narrow"));
  EXPECT_THAT(narrow_refusal(narrow_product(0, 64, 64)), HasSubstr("nothing"));
  EXPECT_THAT(narrow_refusal(narrow_product(16, 8190, 512)), HasSubstr("rows of B"));
  EXPECT_THAT(narrow_refusal(narrow_product(16, 8192, 511)), HasSubstr("rows of A"));
  EXPECT_EQ(narrow_refusal(narrow_product(1, 8192, 511)), "") << "one row has no pitch";
  EXPECT_THAT(narrow_refusal(
                  narrow_product(16, 64, 64, Order::row_major, Order::row_major, Precision::tf32)),
              HasSubstr("B does not lie along k"));
  EXPECT_THAT(narrow_refusal(narrow_product(16, 64, 64, Order::column_major, Order::column_major,
                                            Precision::tf32)),
              HasSubstr("A does not lie along k"));
  EXPECT_EQ(narrow_refusal(
                narrow_product(16, 64, 64, Order::row_major, Order::column_major, Precision::tf32)),
            "");
  EXPECT_THAT(narrow_refusal(
                  narrow_product(16, 64, 64, Order::row_major, Order::row_major, Precision::fp32)),
              HasSubstr("bf16, fp16 and tf32"));
  EXPECT_THAT(narrow_tiles_refusal(narrow_product(16, 64, 64), testing::a100()).value_or(""),
              HasSubstr("9.0"));
  GemmProblem planes = narrow_product(16, 64, 64);
  planes.batch = 2;
  planes.b.batch_stride = 64 * 64 + 4;
  EXPECT_THAT(narrow_refusal(planes), HasSubstr("rows of B"));
}

TEST(NarrowTilesRefusal, TheLibraryTakesThemForFewRows) {
  EXPECT_EQ(best_gemm_variant(narrow_product(16, 8192, 8192), hopper()).name, "narrow_tiles");
  EXPECT_EQ(best_gemm_variant(narrow_product(8192, 8192, 8192), hopper()).name, "tensor_tiles");
  EXPECT_EQ(best_gemm_variant(narrow_product(16, 8192, 64), hopper()).name, "tensor_tiles")
      << "k is short";
  EXPECT_EQ(best_gemm_variant(narrow_product(64, 4096, 14336), hopper()).name, "narrow_tiles");
  EXPECT_EQ(best_gemm_variant(narrow_product(64, 6000, 2816), hopper()).name, "tensor_tiles")
      << "its tiles have as many rows";
  EXPECT_EQ(best_gemm_variant(narrow_product(64, 10240, 8192), hopper()).name, "tensor_tiles")
      << "more tiles than SMs";
  EXPECT_EQ(best_gemm_variant(narrow_product(32, 6000, 2816), hopper()).name, "narrow_tiles");
}

std::string log_of(const GemmProblem& problem, const NarrowTile& tile) {
  return testing::compiler_log("gemm/narrow_tiles.cu", narrow_constants(problem, tile));
}

TEST(NarrowTilesKernel, CompilesWithoutWarningsAndSpillsNothing) {
  GemmProblem problems[] = {
      narrow_product(16, 8192, 8192), narrow_product(8192, 16, 8192),
      narrow_product(16, 8192, 8192, Order::column_major, Order::column_major),
      narrow_product(16, 8192, 8192, Order::row_major, Order::column_major, Precision::tf32)};
  for (GemmProblem& problem : problems) {
    for (const NarrowTile tile : {NarrowTile{.groups = 1, .narrow = 16, .k_boxes = 2, .cluster = 1},
                                  NarrowTile{.groups = 2, .narrow = 64, .cluster = 2},
                                  NarrowTile{.groups = 4, .narrow = 32, .cluster = 8}}) {
      SCOPED_TRACE(text_of(tile));
      const std::string log = log_of(problem, tile);
      EXPECT_THAT(log, HasSubstr("0 bytes spill stores"));
      EXPECT_THAT(log, Not(HasSubstr("warning")));
      EXPECT_THAT(log, Not(HasSubstr("serialized")));
    }
    problem.beta = 1.0;
    problem.has_bias = true;
    problem.activation = Activation::gelu;
    EXPECT_THAT(log_of(problem, {.groups = 2, .cluster = 2}), Not(HasSubstr("warning")));
  }
}

}  // namespace
}  // namespace tilescope::operations
