// Products of few steps of k by FFMAs, on the emulated device; gemm_random_test.cpp has random
// problems for them.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "device/emulated/emulated_device.hpp"
#include "observe/count/count_observer.hpp"
#include "operations/gemm/dispatch/variant_plans.hpp"
#include "operations/gemm/general/short_k.hpp"
#include "operations/gemm/product/memory_product.hpp"
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
                            Order b_order = Order::row_major,
                            Precision precision = Precision::fp32) {
  return dense_problem(shape, precision, operand_type(precision), usual_result_type(precision),
                       a_order, b_order);
}

constexpr Precision precisions[] = {Precision::fp32, Precision::tf32, Precision::bf16,
                                    Precision::fp16};

class GemmShortK : public ::testing::Test {
 protected:
  std::string defects_of(const GemmProblem& problem) {
    const GemmCase of = generator_.filled(problem);
    return defects(of, run_gemm(*emulated_, gemm_variant("short_k"), of), false);
  }
  std::string defects_of(const GemmProblem& problem, const ShortKPlan& plan) {
    static ShortKPlan taken;
    taken = plan;
    GemmVariant variant = gemm_variant("short_k");
    variant.prepare = [](Device& device, const GemmProblem& of) {
      return prepare_short_k(device, of, taken);
    };
    const GemmCase of = generator_.filled(problem);
    return defects(of, run_gemm(*emulated_, variant, of), false);
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

// Words of both operands that are turned on their way, words and chunks that are copied as they
// lie.
TEST_F(GemmShortK, EveryPlan) {
  const std::tuple<MatmulShape, Order, Order> cases[] = {
      {{131, 141, 21}, Order::row_major, Order::column_major},
      {{131, 141, 21}, Order::column_major, Order::row_major},
      {{136, 140, 72}, Order::column_major, Order::row_major},
      {{67, 77, 301}, Order::row_major, Order::row_major}};  // whose k is cut
  for (const Precision precision : precisions) {
    int cut = 0;
    for (const auto& [shape, a_order, b_order] : cases) {
      GemmProblem problem = short_k_problem(shape, a_order, b_order, precision);
      problem.beta = 0.5;
      problem.has_bias = true;
      for (const ShortKPlan& plan : short_k_plan_candidates(problem, emulated_->properties())) {
        EXPECT_EQ(defects_of(problem, plan), "")
            << name_of(precision) << ", " << plan.tile.rows() << " x " << plan.tile.columns()
            << ", " << plan.tile.slices << ", " << plan.splits;
        cut += plan.splits > 1 ? 1 : 0;
      }
    }
    EXPECT_EQ(cut > 9, precision == Precision::fp32);
  }
}

TEST_F(GemmShortK, PartsOfK) {
  GemmProblem problem = short_k_problem({67, 77, 333});
  problem.beta = 0.5;
  problem.has_bias = true;
  problem.activation = Activation::relu;
  std::set<int> splits;
  for (const ShortKPlan& plan : short_k_plan_candidates(problem, emulated_->properties())) {
    if (plan.splits > 1 && splits.insert(plan.splits).second) {
      EXPECT_EQ(defects_of(problem, plan), "") << plan.splits;
    }
  }
  EXPECT_GE(splits.size(), 2u);
  // Not measured, and more than the second kernel's grid has.
  for (const ShortKPlan& plan : short_k_plan_candidates(short_k_problem({64, 64, 20000}), h200())) {
    EXPECT_EQ(plan.splits, 1);
  }
  problem = short_k_problem({64, 64, 4096});
  problem.batch = 70000;
  for (const ShortKPlan& plan : short_k_plan_candidates(problem, h200())) {
    EXPECT_EQ(plan.splits, 1);
  }
}

TEST_F(GemmShortK, NarrowOperandsAndResultsOfEveryType) {
  for (const Precision precision : {Precision::bf16, Precision::fp16}) {
    for (const DataType c_type : {DataType::float32, DataType::bfloat16, DataType::float16}) {
      for (const Order order : both_orders) {
        GemmProblem problem = short_k_problem({37, 67, 70}, order, order, precision);
        problem.c.type = c_type;
        problem.beta = -0.5;
        EXPECT_EQ(defects_of(problem), "") << name_of(c_type);
      }
    }
  }
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
  for (const MatmulShape& shape : {MatmulShape{72, 80, 40}, {67, 71, 137}, {700, 1300, 20}}) {
    for (const Order order : both_orders) {
      for (const Precision precision : {Precision::fp32, Precision::bf16}) {
        EXPECT_EQ(defects_of(short_k_problem(shape, order, order, precision)), "");
        EXPECT_EQ(findings.take(), "") << shape.m;
      }
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
  problem.precision = Precision::fp64;
  EXPECT_EQ(short_k_refusal(problem, t4()), "short_k does not compute fp64");
  problem.precision = Precision::bf16;
  EXPECT_EQ(short_k_refusal(problem, t4()), "A and B must be bfloat16");
  problem = short_k_problem({8, 8, 8}, Order::row_major, Order::row_major, Precision::bf16);
  EXPECT_EQ(short_k_refusal(problem, t4()), std::nullopt);
  problem.c.type = DataType::float64;
  EXPECT_EQ(short_k_refusal(problem, t4()), "C is float64");
  problem = short_k_problem({8, 8, 8});
  problem.c.type = DataType::float16;
  EXPECT_EQ(short_k_refusal(problem, t4()), "all matrices must be float32");
  problem = short_k_problem({8, 8, 8});
  problem.b.leading = (1 << 24) + 1;
  EXPECT_EQ(short_k_refusal(problem, t4()), "rows more than 16777216 elements apart");
}

TEST(ShortK, PaysWhereKIsShort) {
  const auto pays = [](const GemmProblem& problem, const DeviceProperties& device) {
    return gemm_variant("short_k").pays(problem, device);
  };
  EXPECT_TRUE(pays(short_k_problem({512, 512, 64}), h200()));
  EXPECT_FALSE(pays(short_k_problem({512, 512, 64}), a100())) << "not measured";
  EXPECT_FALSE(pays(short_k_problem({512, 512, 4096}), h200()));
  EXPECT_TRUE(pays(short_k_problem({2048, 2048, 24}), h200()));
  EXPECT_FALSE(pays(short_k_problem({2048, 2048, 512}), h200()));
  // Where rows begin anywhere, ffma_tiles copies operands first, or words one by one.
  EXPECT_FALSE(pays(short_k_problem({2048, 2048, 200}, Order::column_major), h200()));
  EXPECT_TRUE(pays(short_k_problem({2047, 2049, 201}, Order::column_major), h200()));
  EXPECT_FALSE(pays(short_k_problem({1024, 1024, 512}), h200()));
  EXPECT_FALSE(pays(short_k_problem({4095, 4097, 4099}), h200()));
}

// A small C has many small tiles, a large one large tiles, and slices are for few tiles.
TEST(ShortK, TilesFillTheSMs) {
  const auto tile = [](const MatmulShape& shape) {
    return short_k_plan_candidates(short_k_problem(shape), h200()).front().tile;
  };
  EXPECT_EQ(tile({100, 100, 100}).rows(), 16);
  EXPECT_GT(tile({100, 100, 100}).slices, 1);
  EXPECT_EQ(tile({4000, 4000, 100}).columns(), 128);
  EXPECT_EQ(tile({4000, 4000, 100}).slices, 1);
}

// The few rows or columns that one of several devices computes have the bits of the whole, though
// a product of that size takes other plans.
TEST(ShortK, PartsOfAProductTakeItsPartsOfK) {
  const GemmProblem whole = short_k_problem({100, 97, 2600});
  const DeviceChoice choice{.kernel = {.variant = &gemm_variant("short_k"),
                                       .plan = short_k_plans(whole, h200()).front().text},
                            .problem = whole};
  ASSERT_THAT(choice.kernel.plan, HasSubstr("splits"));
  for (const MatmulShape& shape :
       {MatmulShape{50, 97, 2600}, {100, 63, 2600}, {1, 97, 2600}, {12, 13, 2600}}) {
    const GemmProblem part = short_k_problem(shape);
    EXPECT_TRUE(choose_alike(choice, part, h200())) << shape.m;
    const std::vector<ShortKPlan> plans = short_k_plan_candidates(part, h200());
    EXPECT_TRUE(std::is_sorted(plans.begin(), plans.end(), [](const auto& one, const auto& other) {
      return (one.splits > 1) < (other.splits > 1);
    })) << "parts, which were not measured, come last";
    EXPECT_THAT(short_k_plans(part, h200()).front().text, ::testing::Not(HasSubstr("splits")));
  }
}

TEST(ShortK, CompilesWithoutWarningsAndSpillsNothing) {
  for (const DeviceProperties& device : {t4(), a100(), h200()}) {
    for (const Order order : both_orders) {
      for (const RowsBy rows : {RowsBy::chunks, RowsBy::elements}) {
        const Precision precision = rows == RowsBy::chunks ? Precision::fp32 : Precision::bf16;
        GemmProblem problem = short_k_problem({512, 512, 40}, order, order, precision);
        problem.beta = 1.0;
        problem.has_bias = true;
        problem.activation = Activation::gelu;
        for (const ShortKPlan& plan : short_k_plan_candidates(problem, device)) {
          const ChunkAccess access{.a = rows, .b = rows, .c_quads = rows == RowsBy::chunks};
          const compile::Program program = compiled(short_k_request(problem, plan, access), device);
          EXPECT_THAT(program.log,
                      HasSubstr("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"))
              << plan.tile.rows() << " x " << plan.tile.columns() << ", " << plan.tile.slices
              << ", " << device.compute_major;
          EXPECT_THAT(program.log, ::testing::Not(HasSubstr("warning")));
        }
      }
    }
  }
}

}  // namespace
}  // namespace tilescope::operations
