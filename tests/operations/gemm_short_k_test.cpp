// fp32 products of few steps of k, on the emulated device; gemm_random_test.cpp has random problems
// for them.
#include <gmock/gmock.h>

#include "device/emulated/emulated_device.hpp"
#include "observe/count/count_observer.hpp"
#include "operations/gemm/general/short_k.hpp"
#include "support/compiled_request.hpp"
#include "support/gemm_runs.hpp"
#include "support/gpus.hpp"
#include "support/launch_findings.hpp"
#include "support/matrices.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::operations {
namespace {

using namespace testing;
using ::testing::HasSubstr;

GemmProblem short_k_problem(const MatmulShape& shape, Order a_order = Order::row_major,
                            Order b_order = Order::row_major) {
  return dense_problem(shape, Precision::fp32, DataType::float32, DataType::float32, a_order,
                       b_order);
}

class GemmShortK : public ::testing::Test {
 protected:
  std::string defects_of(const GemmProblem& problem) {
    const GemmCase of = generator_.filled(problem);
    return defects(of, run_gemm(*emulated_, gemm_variant("short_k"), of), false);
  }
  ShortKTile tile_of(const MatmulShape& shape) const {
    return short_k_tile(short_k_problem(shape), emulated_->properties());
  }

  std::shared_ptr<device::EmulatedDevice> emulated_ =
      std::make_shared<device::EmulatedDevice>("a100");
  GemmGenerator generator_{3};
};

TEST_F(GemmShortK, ExtentsAroundTilesAndSteps) {
  for (const MatmulShape& shape : {MatmulShape{1, 1, 1},
                                   {32, 32, 16},
                                   {33, 31, 17},
                                   {64, 64, 15},
                                   {100, 76, 48},
                                   {7, 130, 33}}) {
    for (const Order a_order : both_orders) {
      for (const Order b_order : both_orders) {
        EXPECT_EQ(defects_of(short_k_problem(shape, a_order, b_order)), "");
      }
    }
  }
}

TEST_F(GemmShortK, EveryTile) {
  const std::pair<MatmulShape, int> cases[] = {
      {{90, 70, 20}, 32}, {{400, 700, 18}, 64}, {{500, 900, 20}, 64}, {{700, 1300, 18}, 128}};
  for (const auto& [shape, columns] : cases) {
    ASSERT_EQ(tile_of(shape).columns, columns) << shape.m;
    for (const Order order : both_orders) {
      GemmProblem problem = short_k_problem(shape, order, order);
      problem.beta = 0.5;
      problem.has_bias = true;
      EXPECT_EQ(defects_of(problem), "");
    }
  }
  EXPECT_EQ(tile_of({400, 700, 18}).rows, 32);
  EXPECT_EQ(tile_of({500, 900, 18}).rows, 64);
}

TEST_F(GemmShortK, EpilogueAndBatches) {
  GemmProblem problem = short_k_problem({40, 72, 24});
  problem.batch = 3;
  problem.beta = -1.5;
  problem.alpha = 0.5;
  problem.has_bias = problem.bias_per_row = true;
  problem.activation = Activation::gelu;
  EXPECT_EQ(defects_of(problem), "");
}

TEST_F(GemmShortK, TheCheckerIsSilent) {
  LaunchFindings findings(*emulated_);
  for (const MatmulShape& shape : {MatmulShape{72, 80, 40}, {67, 71, 37}, {700, 1300, 20}}) {
    for (const Order order : both_orders) {
      EXPECT_EQ(defects_of(short_k_problem(shape, order, order)), "");
      EXPECT_EQ(findings.take(), "") << shape.m;
    }
  }
}

TEST_F(GemmShortK, WholeLinesOfCWithoutBankConflicts) {
  observe::CountObserver counts;
  emulated_->set_options({.observers = {&counts}});
  const GemmCase of =
      placed_case(generator_, short_k_problem({704, 1280, 32}, Order::column_major), 256);
  EXPECT_EQ(defects(of, run_gemm(*emulated_, gemm_variant("short_k"), of), false), "");
  const Counts& all = counts.result().totals;
  EXPECT_EQ(all.shared_load.conflicts(), 0u);
  EXPECT_EQ(all.shared_store.conflicts(), 0u);
  EXPECT_EQ(all.global_load.excessive(), 0u);
  EXPECT_EQ(all.global_store.excessive(), 0u);
  EXPECT_GT(all.shared_load.requests, 0u);
  emulated_->set_options({});
}

TEST(ShortK, RefusesWhatItCannotDo) {
  EXPECT_EQ(short_k_refusal(short_k_problem({8, 8, 8}), t4()), std::nullopt);
  EXPECT_EQ(short_k_refusal(short_k_problem({8, 8, 0}), t4()), "there is nothing to multiply");
  GemmProblem problem = short_k_problem({8, 8, 8});
  problem.precision = Precision::tf32;
  EXPECT_EQ(short_k_refusal(problem, t4()), "short_k computes fp32");
  problem = short_k_problem({8, 8, 8});
  problem.c.type = DataType::float16;
  EXPECT_EQ(short_k_refusal(problem, t4()), "all matrices must be float32");
  problem = short_k_problem({8, 8, 8});
  problem.b.leading = (1 << 24) + 1;
  EXPECT_EQ(short_k_refusal(problem, t4()), "rows more than 16777216 elements apart");
}

TEST(ShortK, PaysWhereKIsShort) {
  EXPECT_TRUE(short_k_pays(short_k_problem({512, 512, 64}), h200()));
  EXPECT_FALSE(short_k_pays(short_k_problem({512, 512, 80}), h200()));
  EXPECT_FALSE(short_k_pays(short_k_problem({512, 512, 64}), a100())) << "not measured";
  EXPECT_TRUE(short_k_pays(short_k_problem({2048, 2048, 24}), h200()));
  EXPECT_FALSE(short_k_pays(short_k_problem({2048, 2048, 64}), h200()));
  GemmProblem along_k = short_k_problem({2048, 2048, 64});
  along_k.b.order = Order::column_major;
  along_k.b.leading = along_k.shape.k;
  EXPECT_TRUE(short_k_pays(along_k, h200()));
  GemmProblem odd = short_k_problem({2047, 2049, 71});
  EXPECT_TRUE(short_k_pays(odd, h200()));
  odd.shape.k = 101;
  EXPECT_FALSE(short_k_pays(odd, h200()));
  odd.beta = 1.0;
  EXPECT_TRUE(short_k_pays(odd, h200()));
  odd.shape.k = 201;
  EXPECT_FALSE(short_k_pays(odd, h200()));
}

TEST(ShortK, CompilesWithoutWarningsAndSpillsNothing) {
  for (const DeviceProperties& device : {t4(), a100(), h200()}) {
    for (const std::int64_t size : {64, 512, 800, 4096}) {
      for (const Order order : both_orders) {
        for (const RowsBy rows : {RowsBy::chunks, RowsBy::elements}) {
          GemmProblem problem = short_k_problem({size, size, 40}, order, order);
          problem.beta = 1.0;
          problem.has_bias = true;
          problem.activation = Activation::gelu;
          const KernelRequest request = short_k_request(problem, device, {.a = rows, .b = rows});
          const compile::Program program = compiled(request, device);
          EXPECT_THAT(program.log,
                      HasSubstr("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"))
              << size << ", " << device.compute_major;
          EXPECT_THAT(program.log, ::testing::Not(HasSubstr("warning")));
        }
      }
    }
  }
}

}  // namespace
}  // namespace tilescope::operations
