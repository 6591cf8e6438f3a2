// Products by mma.sync, on emulated GPUs that differ in shared memory and instructions;
// gemm_random_test.cpp has random problems for them.
#include <gmock/gmock.h>

#include <algorithm>
#include <tuple>

#include "device/emulated/emulated_device.hpp"
#include "observe/count/count_observer.hpp"
#include "operations/gemm/general/mma_sync.hpp"
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
using ::testing::Not;

std::vector<Precision> mma_sync_precisions(const DeviceProperties& device) {
  if (device.compute_major < 8) return {Precision::fp16};
  return {Precision::bf16, Precision::fp16, Precision::tf32};
}

GemmProblem dense(const MatmulShape& shape, Precision precision, Order a_order = Order::row_major,
                  Order b_order = Order::row_major) {
  return dense_problem(shape, precision, operand_type(precision), DataType::float32, a_order,
                       b_order);
}

// A precision and the orders of A and B.
using Operands = std::tuple<Precision, Order, Order>;

class GemmMmaSync : public ::testing::TestWithParam<const char*> {
 protected:
  std::vector<Precision> precisions() const { return mma_sync_precisions(emulated_->properties()); }
  /// Each precision and each order, together in some way.
  std::vector<Operands> some_operands() const {
    if (precisions().size() == 1) {
      return {{Precision::fp16, Order::row_major, Order::row_major},
              {Precision::fp16, Order::column_major, Order::column_major}};
    }
    return {{Precision::bf16, Order::row_major, Order::row_major},
            {Precision::fp16, Order::column_major, Order::column_major},
            {Precision::tf32, Order::row_major, Order::row_major},
            {Precision::tf32, Order::column_major, Order::column_major}};
  }
  /// The plans with k in one part.
  std::vector<MmaSyncPlan> whole_plans_of(const GemmProblem& problem) const {
    std::vector<MmaSyncPlan> plans = plans_of(problem);
    std::erase_if(plans, [](const MmaSyncPlan& plan) { return plan.parts > 1; });
    return plans;
  }
  std::vector<MmaSyncPlan> plans_of(const GemmProblem& problem) const {
    return mma_sync_plan_candidates(problem, emulated_->properties());
  }
  GemmMatrices run(const GemmCase& of, const MmaSyncPlan& plan) {
    static MmaSyncPlan chosen;
    chosen = plan;
    GemmVariant variant = gemm_variant("mma_sync");
    variant.prepare = [](Device& device, const GemmProblem& problem) {
      return prepare_mma_sync(device, problem, chosen);
    };
    return run_gemm(*emulated_, variant, of);
  }
  std::string defects_of(const GemmCase& of, const MmaSyncPlan& plan) {
    return defects(of, run(of, plan), true);
  }
  std::string defects_of(const GemmCase& of) {
    return defects_of(of, plans_of(of.problem).front());
  }

  std::shared_ptr<device::EmulatedDevice> emulated_ =
      std::make_shared<device::EmulatedDevice>(GetParam());
  GemmGenerator generator_{7};
};

TEST_P(GemmMmaSync, ExtentsAroundTilesAndStages) {
  for (const Precision precision : precisions()) {
    for (const MatmulShape& shape :
         {MatmulShape{64, 64, 32}, {65, 63, 33}, {1, 1, 1}, {16, 8, 95}, {63, 72, 96}}) {
      for (const Order a_order : both_orders) {
        for (const Order b_order : both_orders) {
          EXPECT_EQ(defects_of(generator_.filled(dense(shape, precision, a_order, b_order))), "");
        }
      }
    }
  }
}

TEST_P(GemmMmaSync, EveryTileAndParts) {
  for (const auto& [precision, a_order, b_order] : some_operands()) {
    // Rows at multiples of 16 bytes, and others.
    for (const MatmulShape& shape : {MatmulShape{136, 264, 72}, {131, 261, 83}}) {
      GemmProblem problem = dense(shape, precision, a_order, b_order);
      problem.alpha = 2.5;
      problem.beta = -1.0;
      problem.has_bias = problem.bias_per_row = true;
      problem.activation = Activation::relu;
      problem.c.type = operand_type(precision);
      const GemmCase of = placed_case(generator_, problem, 16);
      for (MmaSyncPlan plan : plans_of(problem)) {
        if (plan.parts > 2) continue;
        // All tiles in parts, and the last one alone.
        for (int times = 0; times < plan.parts; ++times) {
          EXPECT_EQ(defects_of(of, plan), "")
              << plan.tile.rows << " x " << plan.tile.columns << ", " << plan.parts << " parts";
          plan.shared_tiles = 1;
        }
      }
    }
  }
}

TEST_P(GemmMmaSync, RowsThatEndWithinAChunk) {
  for (const auto& [precision, a_order, b_order] : some_operands()) {
    GemmProblem problem = dense({67, 70, 77}, precision, a_order, b_order);
    problem.a.leading = problem.b.leading = 80;
    const GemmCase of = placed_case(generator_, problem, 16);
    for (const MmaSyncPlan& plan : whole_plans_of(problem)) {
      EXPECT_EQ(defects_of(of, plan), "") << plan.tile.rows << " x " << plan.tile.columns;
    }
  }
}

TEST_P(GemmMmaSync, Batches) {
  GemmProblem problem = dense({40, 72, 48}, Precision::fp16);
  problem.batch = 3;
  EXPECT_EQ(defects_of(generator_.filled(problem)), "");
}

TEST_P(GemmMmaSync, IntegersAreExact) {
  for (const Precision precision : precisions()) {
    GemmCase of = generator_.filled(dense({70, 90, 100}, precision));
    const auto small = [](GemmMatrices& matrix) {
      matrix.each(
          [&](auto b, auto i, auto j) { matrix.set(b, i, j, double((3 * i + j) % 9 - 4)); });
    };
    small(of.a);
    small(of.b);
    const GemmMatrices c = run(of, plans_of(of.problem).front());
    const RoundedOperands operands(of, 0);
    c.each([&](auto b, auto i, auto j) {
      ASSERT_EQ(c.get(b, i, j), expected_element(of, operands, i, j, true).value) << i << ", " << j;
    });
  }
}

// Each order of both operands: those that do not lie along k are copied first. k in parts too.
TEST_P(GemmMmaSync, SumsOfInt8AreExact) {
  LaunchFindings findings(*emulated_);
  for (const MatmulShape& shape :
       {MatmulShape{1, 1, 1}, {67, 71, 131}, {80, 72, 208}, {129, 65, 33}, {16, 24, 4100}}) {
    for (const Order a_order : both_orders) {
      for (const Order b_order : both_orders) {
        GemmProblem problem = dense_problem(shape, Precision::int8, DataType::int8, DataType::int32,
                                            a_order, b_order);
        EXPECT_EQ(mma_sync_refusal(problem, emulated_->properties()), std::nullopt);
        const GemmCase of = generator_.filled(problem);
        EXPECT_EQ(defects(of, run_gemm(*emulated_, gemm_variant("mma_sync"), of), true), "");
        EXPECT_EQ(findings.take(), "") << of.text;
      }
    }
  }
}

TEST_P(GemmMmaSync, EveryTileOfInt8) {
  for (const MatmulShape& shape : {MatmulShape{136, 264, 160}, {131, 261, 83}}) {
    const GemmProblem problem =
        dense_problem(shape, Precision::int8, DataType::int8, DataType::int32, Order::row_major,
                      Order::column_major);
    const GemmCase of = placed_case(generator_, problem, 16);
    for (const MmaSyncPlan& plan : plans_of(problem)) {
      if (plan.parts > 2) continue;
      EXPECT_EQ(defects_of(of, plan), "")
          << plan.tile.rows << " x " << plan.tile.columns << ", " << plan.parts << " parts";
    }
  }
}

// In every order of both operands. Multiples of 1/8 have exact sums, in which an omitted product
// shows.
TEST_P(GemmMmaSync, EightBitFloatsFromAda) {
  const DeviceProperties& device = emulated_->properties();
  const bool has_them = 10 * device.compute_major + device.compute_minor >= 89;
  LaunchFindings findings(*emulated_);
  for (const Precision precision : {Precision::fp8_e4m3, Precision::fp8_e5m2}) {
    for (const MatmulShape& shape :
         {MatmulShape{1, 1, 1}, {67, 71, 131}, {80, 72, 208}, {16, 24, 4100}}) {
      for (int i = 0; i < 4; ++i) {
        GemmProblem problem =
            dense_problem(shape, precision, operand_type(precision), DataType::bfloat16,
                          both_orders[i % 2], both_orders[i / 2]);
        problem.beta = 0.5;
        EXPECT_EQ(!mma_sync_refusal(problem, device), has_them);
        if (!has_them) continue;
        const GemmCase of = generator_.filled(problem);
        EXPECT_EQ(defects(of, run_gemm(*emulated_, gemm_variant("mma_sync"), of), true), "");
        EXPECT_EQ(findings.take(), "") << of.text;
      }
    }
  }
}

TEST_P(GemmMmaSync, EveryTileOf8BitFloats) {
  const GemmProblem problem =
      dense_problem({131, 261, 160}, Precision::fp8_e4m3, DataType::float8_e4m3, DataType::float32,
                    Order::row_major, Order::column_major);
  if (mma_sync_refusal(problem, emulated_->properties())) GTEST_SKIP() << "needs sm_89";
  const GemmCase of = placed_case(generator_, problem, 16);
  for (const MmaSyncPlan& plan : plans_of(problem)) {
    if (plan.parts > 2) continue;
    EXPECT_EQ(defects_of(of, plan), "")
        << plan.tile.rows << " x " << plan.tile.columns << ", " << plan.parts << " parts";
  }
}

// Aligned rows take the asynchronous copies, others the loads element by element.
TEST_P(GemmMmaSync, TheCheckerIsSilent) {
  LaunchFindings findings(*emulated_);
  for (const auto& [precision, a_order, b_order] : some_operands()) {
    for (const MatmulShape& shape : {MatmulShape{80, 72, 200}, {67, 71, 131}}) {
      const GemmCase of = placed_case(generator_, dense(shape, precision, a_order, b_order), 16);
      for (const MmaSyncPlan& plan : whole_plans_of(of.problem)) {
        EXPECT_EQ(defects_of(of, plan), "");
        EXPECT_EQ(findings.take(), "") << of.text << ": " << plan.tile.rows;
      }
    }
  }
}

TEST_P(GemmMmaSync, NoBankConflictsAndWholeSectors) {
  observe::CountObserver counts;
  emulated_->set_options({.observers = {&counts}});
  for (const auto& [precision, a_order, b_order] : some_operands()) {
    const GemmCase of =
        placed_case(generator_, dense({256, 256, 64}, precision, a_order, b_order), 256);
    for (const MmaSyncPlan& plan : whole_plans_of(of.problem)) {
      EXPECT_EQ(defects_of(of, plan), "");
      const Counts& all = counts.result().totals;
      EXPECT_EQ(all.shared_load.conflicts(), 0u) << of.text;
      EXPECT_EQ(all.shared_async.conflicts(), 0u) << of.text;
      EXPECT_EQ(all.shared_store.conflicts(), 0u) << of.text;
      EXPECT_EQ(all.global_load.excessive(), 0u) << of.text;
      EXPECT_EQ(all.global_store.excessive(), 0u) << of.text;
      EXPECT_GT(all.shared_load.requests, 0u);
    }
  }
  emulated_->set_options({});
}

INSTANTIATE_TEST_SUITE_P(Gpus, GemmMmaSync, ::testing::Values("t4", "a100", "l4"),
                         [](const auto& of) { return std::string(of.param); });

TEST(MmaSync, RefusesWhatItCannotDo) {
  GemmProblem problem = dense({8, 8, 8}, Precision::bf16);
  EXPECT_EQ(mma_sync_refusal(problem, a100()), std::nullopt);
  EXPECT_EQ(mma_sync_refusal(problem, h200()), std::nullopt);
  EXPECT_EQ(mma_sync_refusal(problem, t4()), "needs compute capability 8.0, the device has 7.5");
  problem.b.type = DataType::float32;
  EXPECT_EQ(mma_sync_refusal(problem, h200()), "an operand is float32; bf16 takes bfloat16");
  problem = dense({8, 8, 8}, Precision::fp32);
  EXPECT_EQ(mma_sync_refusal(problem, h200()),
            "tensor cores compute bf16, fp16, tf32 and 8 bits here, not fp32");
  problem = dense({8, 8, 8}, Precision::tf32);
  problem.c.type = DataType::int32;
  EXPECT_EQ(mma_sync_refusal(problem, h200()), "C is int32");
  problem = dense({8, 8, 8}, Precision::fp16);
  problem.a.leading = (1 << 24) + 1;
  EXPECT_EQ(mma_sync_refusal(problem, h200()), "rows more than 16777216 elements apart");
  EXPECT_EQ(mma_sync_refusal(dense({8, 8, 0}, Precision::bf16), h200()),
            "there is nothing to multiply");
  problem = dense({8, 8, 8}, Precision::fp8_e4m3);
  EXPECT_EQ(mma_sync_refusal(problem, a100()), "needs compute capability 8.9, the device has 8.0");
  EXPECT_EQ(mma_sync_refusal(problem, h200()), std::nullopt);
  problem.scale_a.count = 1;
  EXPECT_EQ(mma_sync_refusal(problem, h200()), "takes no scales");
  DeviceProperties volta = t4();
  volta.compute_minor = 0;
  EXPECT_EQ(mma_sync_refusal(dense({8, 8, 8}, Precision::fp16), t4()), std::nullopt);
  EXPECT_EQ(mma_sync_refusal(dense({8, 8, 8}, Precision::fp16), volta),
            "needs compute capability 7.5, the device has 7.0");
}

TEST(MmaSync, FillsTheSharedMemoryThatThereIs) {
  const auto widest = [](const DeviceProperties& device) {
    const auto plans = mma_sync_plan_candidates(dense({8192, 8192, 512}, Precision::fp16), device);
    return *std::max_element(plans.begin(), plans.end(), [](const auto& one, const auto& other) {
      return one.tile.rows * one.tile.columns < other.tile.rows * other.tile.columns;
    });
  };
  DeviceProperties ada = a100();
  ada.shared_bytes_per_block_optin = 99 << 10U;
  ada.shared_bytes_per_sm = 100 << 10U;
  EXPECT_EQ(widest(h200()).tile.threads(), 256);
  EXPECT_EQ(widest(h200()).depth_bytes * widest(h200()).stages, 512);
  EXPECT_EQ(widest(a100()).depth_bytes * widest(a100()).stages, 384);
  EXPECT_EQ(widest(ada).depth_bytes * widest(ada).stages, 256);
  EXPECT_EQ(widest(t4()).depth_bytes * widest(t4()).stages, 128);
}

TEST(MmaSync, CutsLongSumsOfFewTilesAndOfTheLastRound) {
  const auto plan = [](const MatmulShape& shape) {
    return mma_sync_plan_candidates(dense(shape, Precision::bf16), h200()).front();
  };
  EXPECT_GT(plan({512, 512, 16384}).parts, 1);
  EXPECT_EQ(plan({512, 512, 64}).parts, 1);
  // A few tiles more than a round.
  EXPECT_GT(plan({2560, 2048, 8192}).parts, 1);
  EXPECT_LT(plan({2560, 2048, 8192}).shared_tiles, 50);
  EXPECT_EQ(plan({8192, 8192, 8192}).parts, 1);
}

TEST(MmaSync, CompilesWithoutWarningsAndSpillsNothing) {
  const std::tuple<Order, int, RowsBy> layouts[] = {
      {Order::row_major, 4096, RowsBy::chunks},
      {Order::column_major, 4096, RowsBy::chunks},
      {Order::row_major, 4096, RowsBy::partial_chunks},
      {Order::column_major, 4095, RowsBy::elements}};
  for (const DeviceProperties& device : {t4(), a100(), h200()}) {
    for (const Precision precision : mma_sync_precisions(device)) {
      if (precision == Precision::bf16) continue;  // the code of fp16
      for (const auto& [order, size, rows] : layouts) {
        GemmProblem problem = dense({size, size, size}, precision, order, order);
        problem.beta = 1.0;
        problem.has_bias = true;
        problem.activation = Activation::gelu;
        for (const MmaSyncPlan& plan : mma_sync_plan_candidates(problem, device)) {
          if (plan.parts != 1) continue;
          const KernelRequest request =
              mma_sync_request(problem, device, plan, {.a = rows, .b = rows});
          const compile::Program program = compiled(request, device);
          EXPECT_THAT(program.log,
                      HasSubstr("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"))
              << plan.tile.rows << " x " << plan.tile.columns << ", " << device.compute_major;
          EXPECT_THAT(program.log, Not(HasSubstr("warning")));
        }
      }
    }
  }
}

}  // namespace
}  // namespace tilescope::operations
