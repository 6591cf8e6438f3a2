// float64 products by mma.sync, on emulated GPUs with either shape of it; gemm_random_test.cpp has
// random problems for them, gemm_rungs_emulated_test.cpp the checks.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "device/emulated/emulated_device.hpp"
#include "observe/count/count_observer.hpp"
#include "operations/gemm/general/fp64_tiles.hpp"
#include "support/compiled_request.hpp"
#include "support/gemm_runs.hpp"
#include "support/gpus.hpp"
#include "support/launch_findings.hpp"
#include "support/matrices.hpp"

namespace tilescope::operations {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::Not;

GemmProblem fp64_problem(const MatmulShape& shape, Order a_order = Order::row_major,
                         Order b_order = Order::row_major) {
  return dense_problem(shape, Precision::fp64, DataType::float64, DataType::float64, a_order,
                       b_order);
}

class GemmFp64Tiles : public ::testing::TestWithParam<const char*> {
 protected:
  std::vector<Fp64Plan> plans_of(const GemmProblem& problem) const {
    return fp64_plan_candidates(problem, emulated_->properties());
  }
  Fp64Plan plan_of(const GemmProblem& problem, int rows, int columns) const {
    const std::vector<Fp64Plan> all = plans_of(problem);
    return *std::find_if(all.begin(), all.end(), [&](const Fp64Plan& plan) {
      return plan.tile.rows == rows && plan.tile.columns == columns && plan.tile.slices == 1 &&
             plan.splits == 1;
    });
  }
  GemmMatrices run(const GemmCase& of, const Fp64Plan& plan) {
    static Fp64Plan chosen;
    chosen = plan;
    GemmVariant variant = gemm_variant("fp64_tiles");
    variant.prepare = [](Device& device, const GemmProblem& problem) {
      return prepare_fp64_tiles(device, problem, chosen);
    };
    return run_gemm(*emulated_, variant, of);
  }
  std::string defects_of(const GemmCase& of, const Fp64Plan& plan) {
    return defects(of, run(of, plan), true);
  }
  std::string defects_of(const GemmCase& of) {
    return defects_of(of, plans_of(of.problem).front());
  }
  /// A case whose first elements all lie, or all do not lie, at multiples of `bytes`.
  GemmCase placed(const GemmProblem& problem, std::size_t bytes, bool at_multiples) {
    for (;;) {
      GemmCase of = generator_.filled(problem);
      const auto fits = [&](const GemmMatrices& m) {
        return (m.first() % bytes == 0) == at_multiples;
      };
      if (fits(of.a) && fits(of.b) && fits(of.c)) return of;
    }
  }

  std::shared_ptr<device::EmulatedDevice> emulated_ =
      std::make_shared<device::EmulatedDevice>(GetParam());
  GemmGenerator generator_{7};
};

TEST_P(GemmFp64Tiles, ExtentsAroundTilesAndStages) {
  for (const MatmulShape& shape : {MatmulShape{64, 64, 32},
                                   {65, 63, 33},
                                   {1, 1, 1},
                                   {16, 8, 95},
                                   {63, 72, 96},
                                   {128, 66, 129},
                                   {7, 130, 15}}) {
    for (const Order a_order : both_orders) {
      for (const Order b_order : both_orders) {
        EXPECT_EQ(defects_of(generator_.filled(fp64_problem(shape, a_order, b_order))), "");
      }
    }
  }
}

TEST_P(GemmFp64Tiles, EveryTileAndEveryNumberOfParts) {
  for (const Order a_order : both_orders) {
    for (const Order b_order : both_orders) {
      GemmProblem problem = fp64_problem({131, 140, 83}, a_order, b_order);
      problem.batch = 2;
      problem.alpha = 2.5;
      problem.beta = -1.0;
      problem.has_bias = problem.bias_per_row = true;
      problem.activation = Activation::relu;
      const GemmCase of = generator_.filled(problem);
      for (const Fp64Plan& plan : plans_of(problem)) {
        EXPECT_EQ(defects_of(of, plan), "") << plan.tile.rows << ", " << plan.splits << " parts";
      }
    }
  }
}

// Rows that begin at odd multiples of 8 bytes are copied element by element.
TEST_P(GemmFp64Tiles, RowsAtAnyMultipleOfEightBytes) {
  for (const Order a_order : both_orders) {
    for (const Order b_order : both_orders) {
      for (const MatmulShape& shape : {MatmulShape{66, 68, 70}, {67, 69, 71}}) {
        for (const bool at_multiples : {true, false}) {
          EXPECT_EQ(defects_of(placed(fp64_problem(shape, a_order, b_order), 16, at_multiples)),
                    "");
        }
      }
    }
  }
}

// Each sum adds its products in one order, whatever the tile, unless warps share the steps of k.
TEST_P(GemmFp64Tiles, TheTileChangesNoBit) {
  const GemmCase of = generator_.filled(fp64_problem({130, 250, 40}));
  const GemmMatrices narrow = run(of, plan_of(of.problem, 64, 64));
  const GemmMatrices wide = run(of, plan_of(of.problem, 128, 128));
  EXPECT_EQ(narrow.image(), wide.image());
}

// Else the bits would depend on how many devices share the rows.
TEST_P(GemmFp64Tiles, NorDoesThePlaceInATile) {
  for (const Order order : both_orders) {
    GemmCase of = generator_.filled(fp64_problem({66, 68, 260}, order, order));
    of.a.each([&](auto b, auto i, auto step) { of.a.set(b, i, step, std::sin(double(step))); });
    of.b.each([&](auto b, auto step, auto j) { of.b.set(b, step, j, std::cos(double(step))); });
    for (const Fp64Plan& plan : plans_of(of.problem)) {
      const GemmMatrices c = run(of, plan);
      c.each([&](auto b, auto i, auto j) {
        ASSERT_EQ(c.get(b, i, j), c.get(b, 0, 0))
            << plan.tile.rows << ", " << plan.tile.slices << " slices, " << i << ", " << j;
      });
    }
  }
}

// The stage behind the last one is loaded from, too.
TEST_P(GemmFp64Tiles, TheCheckerIsSilentHoweverFewTheSteps) {
  LaunchFindings findings(*emulated_);
  for (const std::int64_t k : {1, 32, 64, 65}) {
    const GemmCase of = generator_.filled(fp64_problem({33, 34, k}));
    for (const Fp64Plan& plan : plans_of(of.problem)) {
      if (plan.splits > 1) continue;
      EXPECT_EQ(defects_of(of, plan), "");
      EXPECT_EQ(findings.take(), "") << plan.tile.rows << " x " << plan.tile.columns << ", "
                                     << plan.tile.slices << " slices, " << k << " steps";
    }
  }
}

TEST_P(GemmFp64Tiles, NoBankConflictsAndWholeSectors) {
  observe::CountObserver counts;
  emulated_->set_options({.observers = {&counts}});
  for (const Order a_order : both_orders) {
    for (const Order b_order : both_orders) {
      const GemmCase of = placed(fp64_problem({128, 256, 64}, a_order, b_order), 128, true);
      for (const Fp64Plan& plan : plans_of(of.problem)) {
        if (plan.splits > 1) continue;
        EXPECT_EQ(defects_of(of, plan), "");
        const Counts& all = counts.result().totals;
        EXPECT_EQ(all.shared_load.conflicts(), 0u) << of.text;
        EXPECT_EQ(all.shared_async.conflicts(), 0u) << of.text;
        EXPECT_EQ(all.shared_store.conflicts(), 0u) << of.text;
        EXPECT_EQ(all.global_load.excessive(), 0u) << of.text;
        EXPECT_EQ(all.global_store.excessive(), 0u) << of.text;
        EXPECT_GT(all.shared_load.requests, 0u);
        // No sum is formed by DFMA: there are only alpha and beta.
        EXPECT_LE(all.operations.dfma, 2u * 128 * 256);
      }
    }
  }
  emulated_->set_options({});
}

INSTANTIATE_TEST_SUITE_P(Gpus, GemmFp64Tiles, ::testing::Values("a100", "h200"),
                         [](const auto& of) { return std::string(of.param); });

TEST(Fp64Tiles, RefuseWhatTheyCannotDo) {
  GemmProblem problem = fp64_problem({8, 8, 8});
  EXPECT_EQ(fp64_tiles_refusal(problem, a100()), std::nullopt);
  EXPECT_EQ(fp64_tiles_refusal(problem, h200()), std::nullopt);
  EXPECT_EQ(fp64_tiles_refusal(problem, t4()), "needs compute capability 8.0, the device has 7.5");
  problem.b.type = DataType::float32;
  EXPECT_EQ(fp64_tiles_refusal(problem, h200()),
            "an operand is float32; fp64 on tensor cores takes float64");
  problem = fp64_problem({8, 8, 8});
  problem.c.type = DataType::int32;
  EXPECT_EQ(fp64_tiles_refusal(problem, h200()), "C is int32");
  problem.precision = Precision::fp32;
  EXPECT_EQ(fp64_tiles_refusal(problem, h200()), "computes fp64, not fp32");
  EXPECT_EQ(fp64_tiles_refusal(fp64_problem({8, 8, 0}), h200()), "there is nothing to multiply");
}

TEST(Fp64Tiles, AreTheDefaultWhereTensorCoresMultiplyFloat64) {
  const GemmProblem problem = fp64_problem({300, 300, 300});
  DeviceProperties without = a100();
  without.compute_minor = 6;
  EXPECT_EQ(best_gemm_variant(problem, a100()).name, "fp64_tiles");
  EXPECT_EQ(best_gemm_variant(problem, h200()).name, "fp64_tiles");
  EXPECT_EQ(best_gemm_variant(problem, without).name, "general");
  EXPECT_EQ(best_gemm_variant(problem, t4()).name, "general");
}

// GPUs of 8.6 and 8.9 have 99 KiB for a block.
TEST(Fp64Tiles, AreNarrowWhereSharedMemoryIsShort) {
  DeviceProperties device = a100();
  const auto has_wide = [&] {
    const auto plans = fp64_plan_candidates(fp64_problem({4096, 4096, 64}), device);
    return std::any_of(plans.begin(), plans.end(), [](const Fp64Plan& plan) {
      return plan.tile.rows == 128 && plan.tile.columns == 128;
    });
  };
  EXPECT_TRUE(has_wide());
  device.shared_bytes_per_block_optin = 99 << 10U;
  EXPECT_FALSE(has_wide());
}

TEST(Fp64Tiles, CutLongSumsOfFewTiles) {
  const auto splits = [](const MatmulShape& shape) {
    return fp64_plan_candidates(fp64_problem(shape), h200()).front().splits;
  };
  EXPECT_GT(splits({512, 512, 8192}), 1);
  EXPECT_EQ(splits({4096, 4096, 4096}), 1);
  EXPECT_EQ(splits({512, 512, 16}), 1);
}

TEST(Fp64Tiles, CompileWithoutWarningsAndSpillNothing) {
  for (const DeviceProperties& device : {a100(), h200()}) {
    for (const Order a_order : both_orders) {
      for (const Order b_order : both_orders) {
        // For sm_80 ptxas keeps more addresses of two operands along k than it has registers for:
        // it spills up to 44 bytes.
        const bool both_along_k = a_order == Order::row_major && b_order == Order::column_major;
        if (device.compute_major == 8 && both_along_k) continue;
        GemmProblem problem = fp64_problem({512, 512, 512}, a_order, b_order);
        problem.beta = 1.0;
        problem.has_bias = true;
        problem.activation = Activation::relu;
        for (const Fp64Plan& plan : fp64_plan_candidates(problem, device)) {
          // The tiles whose registers are scarcest.
          if (plan.splits > 1 || plan.tile.columns != 128) continue;
          const RowsBy of_a = a_order == b_order ? RowsBy::chunks : RowsBy::elements;
          const RowsBy of_b = a_order == b_order ? RowsBy::elements : RowsBy::chunks;
          const KernelRequest request =
              fp64_tiles_request(problem, device, plan, {.a = of_a, .b = of_b});
          const compile::Program program = compiled(request, device);
          EXPECT_THAT(program.log,
                      HasSubstr("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"));
          EXPECT_THAT(program.log, Not(HasSubstr("warning")));
        }
      }
    }
  }
}

}  // namespace
}  // namespace tilescope::operations
