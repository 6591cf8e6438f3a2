// The plans of fp32 tiles: which configuration, which boxes; and that every configuration compiles.
#include <fmt/format.h>

#include <vector>

#include "compile/compiler.hpp"
#include "operations/gemm/ffma.hpp"
#include "operations/kernel_source.hpp"
#include "support/gpus.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::operations {
namespace {

using ::testing::HasSubstr;

DeviceProperties hopper() {
  DeviceProperties device = testing::h200();
  device.warpgroup_products = true;
  return device;
}

GemmProblem product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return dense_problem({m, n, k}, Precision::fp32, DataType::float32, DataType::float32);
}

TEST(FfmaPlan, EveryConfigurationFitsTheChip) {
  for (const FfmaTile& tile : ffma_tiles()) {
    SCOPED_TRACE(tile.text());
    EXPECT_LE(tile.threads(), 1024);
    EXPECT_EQ(tile.threads() % 32, 0);
    for (const Order order : {Order::row_major, Order::column_major}) {
      GemmProblem problem = product(512, 512, 512);
      problem.a.order = order;
      const FfmaPlan plan = ffma_plan(problem, hopper(), tile, 1);
      EXPECT_GE(plan.stages, 3);
      EXPECT_LE(ffma_shared_bytes(plan), hopper().shared_bytes_per_block_optin);
      EXPECT_LE((ffma_shared_bytes(plan) + hopper().reserved_shared_bytes_per_block) *
                    static_cast<std::size_t>(tile.blocks_per_sm()),
                hopper().shared_bytes_per_sm);
      EXPECT_EQ(plan.copies_a, tile.by_steps == (order == Order::row_major));
    }
    EXPECT_LE(tile.threads() * tile.blocks_per_sm(), hopper().max_threads_per_sm);
  }
}

TEST(FfmaPlan, PartsOfKCoverItOnce) {
  for (const std::int64_t k : {1, 31, 32, 33, 1000, 4096, 65536}) {
    for (int splits = 1; splits < 40; ++splits) {
      const FfmaPlan plan = ffma_plan(product(64, 64, k), hopper(), ffma_tiles()[0], splits);
      const std::int64_t phases = (k + 31) / 32;
      EXPECT_GE(std::int64_t{plan.splits} * plan.phases_of_split, phases);
      EXPECT_LT(std::int64_t{plan.splits - 1} * plan.phases_of_split, phases);
      EXPECT_LE(plan.splits, splits);
    }
  }
}

TEST(FfmaPlan, KIsCutWhereTilesAreFewerThanSms) {
  EXPECT_EQ(best_ffma_plan(product(8192, 8192, 8192), hopper()).splits, 1);
  const FfmaPlan deep = best_ffma_plan(product(256, 256, 65536), hopper());
  EXPECT_GT(deep.splits, 8);
  const Launch launch = ffma_launch(product(256, 256, 65536), deep);
  EXPECT_EQ(launch.grid.y, static_cast<std::uint32_t>(deep.splits));
  EXPECT_GE(launch.grid.count(), 100u);
}

TEST(FfmaPlan, LargeProductsTakeLargeTilesAndFlatOnesFlatTiles) {
  const FfmaTile large = best_ffma_plan(product(8192, 8192, 8192), hopper()).tile;
  EXPECT_GE(large.m * large.n, 128 * 128);
  EXPECT_EQ(best_ffma_plan(product(16, 8192, 8192), hopper()).tile.m, 16);
}

TEST(FfmaPlan, ABatchIsInTheGrid) {
  GemmProblem problem = product(300, 300, 300);
  problem.batch = 7;
  const FfmaPlan plan = best_ffma_plan(problem, hopper());
  const Launch launch = ffma_launch(problem, plan);
  EXPECT_EQ(launch.grid.z, 7u);
  EXPECT_EQ(launch.grid.x, groups_of(300, plan.tile.m) * groups_of(300, plan.tile.n));
}

TEST(FfmaRefusal, SaysWhatItDoesNotTake) {
  EXPECT_EQ(ffma_refusal(product(3, 5, 7), hopper()), std::nullopt);
  EXPECT_THAT(ffma_refusal(product(3, 5, 0), hopper()).value_or(""), HasSubstr("nothing"));
  EXPECT_THAT(ffma_refusal(product(3, 5, 7), testing::a100()).value_or(""), HasSubstr("9.0"));
  GemmProblem problem = product(3, 5, 7);
  problem.c.type = DataType::float16;
  EXPECT_THAT(ffma_refusal(problem, hopper()).value_or(""), HasSubstr("float32"));
  problem = product(3, 5, 7);
  problem.batch = 2;
  problem.a.batch_stride = 21;
  EXPECT_THAT(ffma_refusal(problem, hopper()).value_or(""), HasSubstr("16 bytes apart"));
  problem.precision = Precision::tf32;
  EXPECT_THAT(ffma_refusal(problem, hopper()).value_or(""), HasSubstr("fp32"));
}

TEST(FfmaKernel, EveryConfigurationCompilesWithoutWarningsAndSpillsNothing) {
  for (const FfmaTile& tile : ffma_tiles()) {
    for (const bool whole_epilogue : {false, true}) {
      GemmProblem problem = product(8192, 8192, 8192);
      if (whole_epilogue) {
        problem.beta = 1.0;
        problem.has_bias = true;
        problem.activation = Activation::gelu;
        problem.a.order = Order::column_major;
      }
      const FfmaPlan plan = ffma_plan(problem, hopper(), tile, 1);
      KernelRequest request = embedded_request("gemm/ffma_tiles.cu");
      const compile::Program program = compile::compile({.source_name = request.source_name,
                                                         .source = request.source,
                                                         .kernel = "gemm",
                                                         .architecture = "sm_90a",
                                                         .defines = ffma_constants(problem, plan),
                                                         .include_directories = {},
                                                         .headers = request.headers,
                                                         .extra_options = {"--ptxas-options=-v"}});
      SCOPED_TRACE(tile.text());
      EXPECT_THAT(program.log,
                  HasSubstr("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"));
      EXPECT_THAT(program.log, ::testing::Not(HasSubstr("warning")));
    }
  }
}

}  // namespace
}  // namespace tilescope::operations
