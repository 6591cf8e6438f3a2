// Many small products in one launch, on emulated GPUs; gemm_random_test.cpp has random problems for
// them.
#include <gmock/gmock.h>

#include <set>
#include <tuple>

#include "device/emulated/emulated_device.hpp"
#include "observe/count/count_observer.hpp"
#include "operations/gemm/dispatch/gemm_variants.hpp"
#include "operations/gemm/general/small_products.hpp"
#include "support/compiled_request.hpp"
#include "support/gemm_kernels.hpp"
#include "support/gemm_runs.hpp"
#include "support/gpus.hpp"
#include "support/launch_findings.hpp"
#include "support/matrices.hpp"

namespace tilescope::operations {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<Precision> small_products_precisions(const DeviceProperties& device) {
  if (device.compute_major < 8) return {Precision::fp32, Precision::fp16, Precision::int8};
  std::vector<Precision> precisions{Precision::fp32, Precision::bf16, Precision::fp16,
                                    Precision::tf32, Precision::int8};
  if (device.compute_minor == 9) precisions.push_back(Precision::fp8_e4m3);
  return precisions;
}

GemmProblem dense(const MatmulShape& shape, Precision precision, std::int64_t batch,
                  Order a_order = Order::row_major, Order b_order = Order::row_major) {
  GemmProblem problem = dense_problem(shape, precision, operand_type(precision),
                                      sum_type(precision), a_order, b_order);
  problem.batch = batch;
  return problem;
}

class GemmSmallProducts : public ::testing::TestWithParam<const char*> {
 protected:
  std::vector<Precision> precisions() const {
    return small_products_precisions(emulated_->properties());
  }
  std::vector<SmallPlan> plans_of(const GemmProblem& problem) const {
    return small_plan_candidates(problem, emulated_->properties());
  }
  bool takes(const GemmProblem& problem) const {
    return !small_products_refusal(problem, emulated_->properties());
  }
  std::string defects_of(const GemmCase& of, const SmallPlan& plan) {
    static SmallPlan chosen;
    chosen = plan;
    GemmVariant variant = gemm_variant("small_products");
    variant.prepare = [](Device& device, const GemmProblem& problem) {
      return prepare_small_products(device, problem, chosen);
    };
    return defects(of, run_gemm(*emulated_, variant, of), of.problem.precision != Precision::fp32);
  }
  std::string defects_of(const GemmProblem& problem) {
    return defects_of(generator_.filled(problem), plans_of(problem).front());
  }
  std::shared_ptr<device::EmulatedDevice> emulated_ =
      std::make_shared<device::EmulatedDevice>(GetParam());
  GemmGenerator generator_{11};
};

TEST_P(GemmSmallProducts, ExtentsAroundTilesAndStages) {
  for (const Precision precision : precisions()) {
    std::size_t turn = 0;
    for (const MatmulShape& shape : {MatmulShape{1, 1, 1},
                                     {16, 16, 16},
                                     {17, 15, 33},
                                     {32, 64, 32},
                                     {50, 37, 61},
                                     {64, 128, 48},
                                     {7, 100, 130}}) {
      const Order a_order = both_orders[turn % 2], b_order = both_orders[turn / 2 % 2];
      const bool is_8_bits = size_of(operand_type(precision)) == 1;
      EXPECT_EQ(defects_of(dense(shape, precision, 3, is_8_bits ? Order::row_major : a_order,
                                 is_8_bits ? Order::column_major : b_order)),
                "");
      ++turn;
    }
  }
}

// Blocks go on from one product to the next, in every tile, with and without whole chunks.
TEST_P(GemmSmallProducts, EveryPlan) {
  LaunchFindings findings(*emulated_);
  for (const Precision precision : precisions()) {
    for (const MatmulShape& shape : {MatmulShape{16, 32, 72}, {29, 13, 37}}) {
      for (const Order order : both_orders) {
        const Order b_order = size_of(operand_type(precision)) == 1 ? Order::column_major : order;
        const std::int64_t batch = emulated_->properties().sm_count + 5;
        const GemmProblem problem = dense(shape, precision, batch, order, b_order);
        if (!takes(problem)) continue;
        const GemmCase of = placed_case(generator_, problem, 16);
        for (SmallPlan plan : plans_of(problem)) {
          if (plan.stages > 2 && order == Order::column_major) continue;
          plan.blocks_per_sm = 1;
          EXPECT_EQ(defects_of(of, plan), "")
              << plan.warp_rows << " x " << plan.warp_columns << ", " << plan.depth_bytes
              << " bytes, " << plan.stages << " stages";
          EXPECT_EQ(findings.take(), "") << of.text;
        }
      }
    }
  }
}

TEST_P(GemmSmallProducts, TheWholeEpilogue) {
  for (const Precision precision : {Precision::fp32, Precision::fp16}) {
    for (const MatmulShape& shape : {MatmulShape{48, 40, 24}, {31, 45, 19}}) {
      GemmProblem problem = dense(shape, precision, 5);
      problem.alpha = 2.5;
      problem.beta = -1.0;
      problem.has_bias = problem.bias_per_row = true;
      problem.activation = Activation::gelu;
      problem.c.type = operand_type(precision);
      EXPECT_EQ(defects_of(problem), "");
    }
  }
}

// One matrix of A for all products, and rows with gaps that end within a chunk.
TEST_P(GemmSmallProducts, RepeatedAndPaddedOperands) {
  for (const Precision precision : {Precision::fp32, Precision::fp16}) {
    GemmProblem problem = dense({20, 30, 27}, precision, 4);
    problem.a.batch_stride = 0;
    problem.a.leading = 32;
    problem.b.leading = 32;
    problem.b.batch_stride = 32 * 27 + 64;
    EXPECT_EQ(defects_of(placed_case(generator_, problem, 16), plans_of(problem).front()), "");
  }
}

TEST_P(GemmSmallProducts, MoreProductsThanAGridHasPlanes) {
  EXPECT_EQ(defects_of(dense({5, 4, 3}, Precision::fp16, 70'000)), "");
}

TEST_P(GemmSmallProducts, NoBankConflictsInFragments) {
  observe::CountObserver counts;
  emulated_->set_options({.observers = {&counts}});
  for (const Precision precision : precisions()) {
    for (const Order order : both_orders) {
      const Order b_order = size_of(operand_type(precision)) == 1 ? Order::column_major : order;
      const GemmProblem problem = dense({64, 64, 64}, precision, 2, order, b_order);
      if (!takes(problem)) continue;
      EXPECT_EQ(defects_of(placed_case(generator_, problem, 256), plans_of(problem).front()), "");
      const Counts& all = counts.result().totals;
      EXPECT_EQ(all.shared_async.conflicts(), 0u);
      EXPECT_EQ(all.global_load.excessive(), 0u);
      EXPECT_EQ(all.global_store.excessive(), 0u);
      const bool has_fragments = precision != Precision::fp32;
      EXPECT_EQ(has_fragments ? all.shared_load.conflicts() : 0u, 0u);
    }
  }
  emulated_->set_options({});
}

INSTANTIATE_TEST_SUITE_P(Gpus, GemmSmallProducts, ::testing::Values("t4", "a100", "l4"),
                         [](const auto& of) { return std::string(of.param); });

TEST(SmallProducts, RefusesWhatItCannotDo) {
  const auto why = [](const GemmProblem& problem) {
    return small_products_refusal(problem, h200());
  };
  EXPECT_EQ(why(dense({128, 128, 4096}, Precision::bf16, 1 << 20)), std::nullopt);
  EXPECT_EQ(why(dense({64, 64, 64}, Precision::bf16, 1)),
            "one product is one block's work: small_products takes lists");
  EXPECT_EQ(why(dense({129, 8, 8}, Precision::bf16, 2)), "C has more than 128 rows or columns");
  EXPECT_EQ(why(dense({8, 8, 0}, Precision::bf16, 2)), "there is nothing to multiply");
  EXPECT_EQ(why(dense({8, 8, 8}, Precision::bf16, std::int64_t{1} << 31)),
            "batches beyond 2147479551");
  EXPECT_EQ(why(dense({8, 8, 8}, Precision::int8, 2)), "operands of 8 bits must lie along k");
  EXPECT_EQ(why(dense({8, 8, 8}, Precision::fp64, 2)),
            "tensor cores compute bf16, fp16, tf32 and 8 bits here, not fp64");
  GemmProblem problem = dense({8, 8, 8}, Precision::fp32, 2);
  problem.b.type = DataType::float64;
  EXPECT_EQ(why(problem), "A and B must be float32");
  problem = dense({8, 8, 8}, Precision::fp32, 2);
  problem.c.type = DataType::int32;
  EXPECT_EQ(why(problem), "C is int32");
  problem = dense({8, 8, 8}, Precision::fp32, 2);
  problem.a.leading = (1 << 24) + 1;
  EXPECT_EQ(why(problem), "rows more than 16777216 elements apart");
}

// The dispatcher takes it for thousands of small products, and for no others.
TEST(SmallProducts, IsChosenForManyProducts) {
  const auto choice = [](const MatmulShape& shape, Precision precision, std::int64_t batch) {
    return best_gemm_variant(dense(shape, precision, batch), hopper()).name;
  };
  for (const Precision precision :
       {Precision::fp32, Precision::fp32_fast, Precision::tf32, Precision::bf16, Precision::fp16}) {
    EXPECT_EQ(choice({64, 64, 64}, precision, 10'000), "small_products");
    EXPECT_EQ(choice({50, 37, 61}, precision, 1'000'000), "small_products");
    EXPECT_NE(choice({64, 64, 64}, precision, 4), "small_products");
    EXPECT_NE(choice({129, 64, 64}, precision, 10'000), "small_products");
    EXPECT_NE(choice({64, 64, 4096}, precision, 10'000), "small_products");
  }
}

// A block alone on its SM is slower than larger kernels' blocks; before Hopper there are none for
// FFMAs.
TEST(SmallProducts, LeavesProductsThatFillAnSm) {
  const auto is_chosen = [](Precision precision, const DeviceProperties& device) {
    const GemmProblem problem = dense({128, 128, 128}, precision, 3'000);
    return best_gemm_variant(problem, device).name == "small_products";
  };
  for (const Precision precision :
       {Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16}) {
    EXPECT_FALSE(is_chosen(precision, hopper())) << name_of(precision);
    const bool by_ffma = precision == Precision::fp32;
    EXPECT_EQ(is_chosen(precision, a100()), by_ffma) << name_of(precision);
  }
}

// The least of an SM's parts decides, as measured on an H200: two warps of 32 x 64 have fewer loads
// of shared memory, but leave schedulers idle.
TEST(SmallProducts, PlansKeepAllSchedulersBusy) {
  for (const Precision precision :
       {Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16}) {
    for (const MatmulShape& shape : {MatmulShape{64, 64, 64}, {50, 37, 61}}) {
      const SmallPlan plan = small_plan_candidates(dense(shape, precision, 10'000), h200()).front();
      EXPECT_EQ(plan.threads(), 128) << name_of(precision);
      EXPECT_EQ(plan.threads() / 32 * plan.blocks_per_sm % 4, 0) << name_of(precision);
    }
  }
}

// Millions of products need no plane of blocks each.
TEST(SmallProducts, OtherKernelsTakeLargeBatchesToo) {
  const auto takes = [](std::string_view variant, Precision precision, std::int64_t batch) {
    return !gemm_variant(variant).refusal(dense({200, 8, 8}, precision, batch), h200());
  };
  constexpr std::int64_t million = 1'000'000, too_many = 1'000'000'000;
  EXPECT_TRUE(takes("mma_sync", Precision::bf16, million));
  EXPECT_TRUE(takes("short_k", Precision::fp32, million));
  EXPECT_TRUE(takes("fp64_tiles", Precision::fp64, million));
  EXPECT_FALSE(takes("mma_sync", Precision::bf16, too_many));
  EXPECT_FALSE(takes("short_k", Precision::fp32, too_many));
  EXPECT_FALSE(takes("fp64_tiles", Precision::fp64, too_many));
  EXPECT_FALSE(takes("mma_sync", Precision::int8, million)) << "A is copied first, by planes";
}

TEST(SmallProducts, CompilesWithoutWarningsAndSpillsNothing) {
  const std::tuple<Order, int, RowsBy> layouts[] = {{Order::row_major, 64, RowsBy::chunks},
                                                    {Order::column_major, 64, RowsBy::chunks},
                                                    {Order::row_major, 61, RowsBy::elements}};
  for (const DeviceProperties& device : {t4(), h200()}) {
    for (const Precision precision : small_products_precisions(device)) {
      if (precision == Precision::bf16) continue;  // the code of fp16
      for (const auto& [order, size, rows] : layouts) {
        for (const int extent : {size, 2 * size}) {
          const Order b_order = size_of(operand_type(precision)) == 1 ? Order::column_major : order;
          const GemmProblem problem =
              dense({extent, extent, extent}, precision, 10'000, order, b_order);
          if (small_products_refusal(problem, device)) continue;
          for (const SmallPlan& plan : small_plan_candidates(problem, device)) {
            if (plan.stages > 2) continue;  // the same code
            const compile::Program program = compiled(
                small_products_request(problem, device, plan, {.a = rows, .b = rows}), device);
            EXPECT_THAT(program.log,
                        HasSubstr("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"))
                << name_of(precision) << ' ' << extent << ": " << plan.warp_rows << " x "
                << plan.warp_columns << ", depth " << plan.depth_bytes << ", " << plan.stages
                << " stages, " << plan.blocks_per_sm << " blocks, " << device.compute_major;
            EXPECT_THAT(program.log, Not(HasSubstr("warning")));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tilescope::operations
