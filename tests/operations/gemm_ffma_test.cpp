// The plans of fp32 tiles: which configuration, which boxes; and that every configuration compiles.
#include <fmt/format.h>

#include <vector>

#include "operations/gemm/hopper/ffma.hpp"
#include "support/gemm_kernels.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::operations {
namespace {

using ::testing::HasSubstr;
using testing::hopper;

GemmProblem fp32_product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return dense_problem({m, n, k}, Precision::fp32, DataType::float32, DataType::float32);
}

TEST(FfmaPlan, EveryConfigurationFitsTheChip) {
  for (const FfmaTile& tile : ffma_tiles()) {
    SCOPED_TRACE(tile.text());
    EXPECT_LE(tile.threads(), 1024);
    EXPECT_EQ(tile.threads() % 32, 0);
    for (const Order order : {Order::row_major, Order::column_major}) {
      for (const std::int64_t side : {512, 513}) {
        GemmProblem problem = fp32_product(side, side, side);
        problem.a.order = problem.b.order = order;
        const FfmaPlan plan = ffma_plan(problem, hopper(), tile, 1);
        EXPECT_GE(plan.stages, 3);
        EXPECT_LE(ffma_shared_bytes(plan), hopper().shared_bytes_per_block_optin);
        EXPECT_LE((ffma_shared_bytes(plan) + hopper().reserved_shared_bytes_per_block) *
                      static_cast<std::size_t>(tile.blocks_per_sm()),
                  hopper().shared_bytes_per_sm);
        EXPECT_EQ(ffma_a_lies_as_tile(problem, tile), tile.by_steps == (order != Order::row_major));
      }
    }
    EXPECT_LE(tile.threads() * tile.blocks_per_sm(), hopper().max_threads_per_sm);
  }
}

// B is row-major, as its tiles are.
TEST(FfmaPlan, OnlyWholeChunksThatLieAsTheTileAreBoxes) {
  const FfmaTile tile = ffma_tiles()[0];
  ASSERT_TRUE(tile.by_steps);
  const auto plan = [&](GemmProblem problem) { return ffma_plan(problem, hopper(), tile, 1); };

  EXPECT_EQ(plan(fp32_product(512, 512, 512)).b, FfmaSource::boxes);
  EXPECT_NE(plan(fp32_product(512, 512, 512)).a, FfmaSource::boxes);
  EXPECT_NE(plan(fp32_product(512, 513, 512)).b, FfmaSource::boxes);

  GemmProblem problem = fp32_product(512, 510, 512);
  problem.b.leading = 512;
  EXPECT_NE(plan(problem).b, FfmaSource::boxes) << "a row ends within a chunk";

  problem = fp32_product(512, 512, 512);
  problem.a.order = Order::column_major;
  EXPECT_EQ(plan(problem).a, FfmaSource::boxes);
  problem.batch = 2;
  problem.a.batch_stride = 512 * 512;
  problem.b.batch_stride = 512 * 512 + 1;
  EXPECT_EQ(plan(problem).a, FfmaSource::boxes);
  EXPECT_NE(plan(problem).b, FfmaSource::boxes) << "the second matrix begins within a chunk";
}

TEST(FfmaPlan, WordsAreOfTheDirectionInWhichRowsLie) {
  for (const FfmaTile& tile : ffma_tiles()) {
    for (const Order order : {Order::row_major, Order::column_major}) {
      for (const std::int64_t side : {100, 1001, 1002, 5000, 5001}) {
        GemmProblem problem = fp32_product(side, side, side);
        problem.a.order = problem.b.order = order;
        const FfmaPlan plan = ffma_plan(problem, hopper(), tile, 1);
        const auto fits = [](FfmaSource source, bool lies_as_tile) {
          return source == FfmaSource::copy ||
                 (source == FfmaSource::transposed_words) == !lies_as_tile;
        };
        EXPECT_TRUE(fits(plan.a, ffma_a_lies_as_tile(problem, tile)));
        EXPECT_TRUE(fits(plan.b, ffma_b_lies_as_tile(problem)));
        EXPECT_TRUE(tile.by_steps || plan.a != FfmaSource::transposed_words);
      }
    }
  }
}

TEST(FfmaPlan, PitchesBeyond31BitsAreNotAddressedByWords) {
  GemmProblem problem = fp32_product(127, 8192, 4001);
  problem.b.leading = std::int64_t{1} << 30;
  for (const FfmaTile& tile : ffma_tiles()) {
    EXPECT_EQ(ffma_plan(problem, hopper(), tile, 1).b, FfmaSource::boxes);
    problem.b.leading += 1;
    EXPECT_EQ(ffma_plan(problem, hopper(), tile, 1).b, FfmaSource::copy);
    problem.b.leading -= 1;
  }
}

TEST(FfmaPlan, PartsOfKCoverItOnce) {
  for (const std::int64_t k : {1, 31, 32, 33, 1000, 4096, 65536}) {
    for (int splits = 1; splits < 40; ++splits) {
      const FfmaPlan plan = ffma_plan(fp32_product(64, 64, k), hopper(), ffma_tiles()[0], splits);
      const std::int64_t phases = (k + 31) / 32;
      EXPECT_GE(std::int64_t{plan.splits} * plan.phases_of_split, phases);
      EXPECT_LT(std::int64_t{plan.splits - 1} * plan.phases_of_split, phases);
      EXPECT_LE(plan.splits, splits);
    }
  }
}

TEST(FfmaPlan, KIsCutWhereTilesAreFewerThanSms) {
  EXPECT_EQ(best_ffma_plan(fp32_product(8192, 8192, 8192), hopper()).splits, 1);
  const FfmaPlan deep = best_ffma_plan(fp32_product(256, 256, 65536), hopper());
  EXPECT_GT(deep.splits, 8);
  const Launch launch = ffma_launch(fp32_product(256, 256, 65536), deep);
  EXPECT_EQ(launch.grid.y, static_cast<std::uint32_t>(deep.splits));
  EXPECT_GE(launch.grid.count(), 100u);
}

TEST(FfmaPlan, LargeProductsTakeLargeTilesAndFlatOnesFlatTiles) {
  const FfmaTile large = best_ffma_plan(fp32_product(8192, 8192, 8192), hopper()).tile;
  EXPECT_GE(large.m * large.n, 128 * 128);
  EXPECT_EQ(best_ffma_plan(fp32_product(16, 8192, 8192), hopper()).tile.m, 16);
}

// A copy of B is 131 MB here, and each of its elements is used by one tile alone.
TEST(FfmaPlan, OperandsOfFlatProductsAreNotCopiedThoseOfCubesAre) {
  EXPECT_EQ(best_ffma_plan(fp32_product(127, 8191, 4001), hopper()).b, FfmaSource::words);
  EXPECT_EQ(best_ffma_plan(fp32_product(127, 8190, 4001), hopper()).b, FfmaSource::paired_boxes);
  const FfmaPlan cube = best_ffma_plan(fp32_product(8191, 8191, 8191), hopper());
  EXPECT_EQ(cube.a, FfmaSource::copy);
  EXPECT_EQ(cube.b, FfmaSource::copy);
}

TEST(FfmaPlan, RowsHalfAChunkApartArePairs) {
  const auto source = [](std::int64_t leading, std::int64_t batch_stride) {
    GemmProblem problem = fp32_product(127, 8190, 4001);
    problem.b.leading = leading;
    problem.batch = 2;
    problem.b.batch_stride = batch_stride;
    return ffma_plan(problem, hopper(), {128, 64, 8, 8, 4, 2, 2, true, {100.0, 0, 0}}, 1).b;
  };
  EXPECT_EQ(source(8190, 8190 * 4002), FfmaSource::paired_boxes);
  EXPECT_NE(source(8190, 8190 * 4001), FfmaSource::paired_boxes) << "the second matrix is not";
  EXPECT_NE(source(8191, 8191 * 4004), FfmaSource::paired_boxes);
  EXPECT_NE(source(8192, 8192 * 4001), FfmaSource::paired_boxes);
}

TEST(FfmaPlan, ABatchIsInTheGrid) {
  GemmProblem problem = fp32_product(300, 300, 300);
  problem.batch = 7;
  const FfmaPlan plan = best_ffma_plan(problem, hopper());
  const Launch launch = ffma_launch(problem, plan);
  EXPECT_EQ(launch.grid.z, 7u);
  EXPECT_EQ(launch.grid.x, groups_of(300, plan.tile.m) * groups_of(300, plan.tile.n));
}

TEST(FfmaRefusal, SaysWhatItDoesNotTake) {
  EXPECT_EQ(ffma_refusal(fp32_product(3, 5, 7), hopper()), std::nullopt);
  EXPECT_THAT(ffma_refusal(fp32_product(3, 5, 0), hopper()).value_or(""), HasSubstr("nothing"));
  EXPECT_THAT(ffma_refusal(fp32_product(3, 5, 7), testing::a100()).value_or(""), HasSubstr("9.0"));
  GemmProblem problem = fp32_product(3, 5, 7);
  problem.c.type = DataType::float16;
  EXPECT_THAT(ffma_refusal(problem, hopper()).value_or(""), HasSubstr("float32"));
  problem = fp32_product(3, 5, 7);
  problem.batch = 70000;
  EXPECT_THAT(ffma_refusal(problem, hopper()).value_or(""), HasSubstr("65535"));
  problem = fp32_product(3, 5, 7);
  problem.batch = 2;
  problem.a.batch_stride = 21;
  EXPECT_EQ(ffma_refusal(problem, hopper()), std::nullopt);
  problem.precision = Precision::tf32;
  EXPECT_THAT(ffma_refusal(problem, hopper()).value_or(""), HasSubstr("fp32"));
}

void expect_quiet_compilation(const GemmProblem& problem, const FfmaPlan& plan) {
  const std::string log =
      testing::compiler_log("gemm/ffma_tiles.cu", ffma_constants(problem, plan), ffma_options());
  SCOPED_TRACE(plan.tile.text());
  EXPECT_THAT(log, HasSubstr("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"));
  EXPECT_THAT(log, ::testing::Not(HasSubstr("warning")));
}

TEST(FfmaKernel, EveryConfigurationCompilesWithoutWarningsAndSpillsNothing) {
  for (const FfmaTile& tile : ffma_tiles()) {
    for (const bool is_hard : {false, true}) {
      GemmProblem problem = fp32_product(8192, 8192, 8192);
      if (is_hard) {
        problem.beta = 1.0;
        problem.has_bias = true;
        problem.activation = Activation::gelu;
      }
      FfmaPlan plan = ffma_plan(problem, hopper(), tile, 1);
      if (is_hard) {
        plan.a = tile.by_steps ? FfmaSource::transposed_words : FfmaSource::words;
        plan.b = FfmaSource::words;
      }
      expect_quiet_compilation(problem, plan);
    }
  }
}

TEST(FfmaKernel, PairsOfRowsCompile) {
  for (const FfmaTile& tile : ffma_tiles()) {
    if (tile.n > 252) continue;
    FfmaPlan plan = ffma_plan(fp32_product(8192, 8190, 8192), hopper(), tile, 1);
    plan.b = FfmaSource::paired_boxes;
    expect_quiet_compilation(fp32_product(8192, 8190, 8192), plan);
  }
}

TEST(FfmaKernel, WordsOfEveryDirectionCompile) {
  const GemmProblem problem = fp32_product(8192, 8192, 8192);
  FfmaPlan plan = ffma_plan(problem, hopper(), ffma_tiles()[0], 1);
  plan.a = FfmaSource::words;
  plan.b = FfmaSource::transposed_words;
  expect_quiet_compilation(problem, plan);
}

}  // namespace
}  // namespace tilescope::operations
