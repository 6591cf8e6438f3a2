// Products of few steps of k on tensor cores, on the emulated device; gemm_random_test.cpp has
// random problems for them.
#include <gmock/gmock.h>

#include <algorithm>

#include "device/emulated/emulated_device.hpp"
#include "operations/gemm/general/short_k_mma.hpp"
#include "operations/gemm/general/short_k_mma_time.hpp"
#include "support/compiled_request.hpp"
#include "support/gemm_runs.hpp"
#include "support/gpus.hpp"
#include "support/launch_findings.hpp"
#include "support/matrices.hpp"

namespace tilescope::operations {
namespace {

using namespace testing;
using ::testing::HasSubstr;

GemmProblem short_k_mma_problem(const MatmulShape& shape, Order a_order = Order::row_major,
                                Order b_order = Order::row_major,
                                Precision precision = Precision::bf16) {
  const DataType type = precision == Precision::tf32 ? DataType::float32 : DataType::bfloat16;
  return dense_problem(shape, precision, type, type, a_order, b_order);
}

class GemmShortKMma : public ::testing::Test {
 protected:
  std::string defects_of(const GemmProblem& problem) {
    const GemmCase of = generator_.filled(problem);
    return defects(of, run_gemm(*emulated_, gemm_variant("short_k_mma"), of), true);
  }

  std::string defects_of(const GemmCase& of, const MmaSyncPlan& plan) {
    static MmaSyncPlan taken;
    taken = plan;
    GemmVariant variant = gemm_variant("short_k_mma");
    variant.prepare = [](Device& device, const GemmProblem& problem) {
      return prepare_short_k_mma(device, problem, taken);
    };
    return defects(of, run_gemm(*emulated_, variant, of), true);
  }

  std::shared_ptr<device::EmulatedDevice> emulated_ =
      std::make_shared<device::EmulatedDevice>("a100");
  GemmGenerator generator_{3};
};

TEST_F(GemmShortKMma, ExtentsAroundTilesAndSteps) {
  for (const Precision precision : {Precision::bf16, Precision::tf32}) {
    for (const MatmulShape& shape : {MatmulShape{1, 1, 1},
                                     {32, 32, 16},
                                     {33, 31, 17},
                                     {64, 64, 15},
                                     {100, 76, 48},
                                     {7, 130, 33},
                                     {65, 63, 70},
                                     {66, 67, 129},
                                     {34, 70, 301}}) {
      for (const Order a_order : both_orders) {
        for (const Order b_order : both_orders) {
          EXPECT_EQ(defects_of(short_k_mma_problem(shape, a_order, b_order, precision)), "")
              << shape.k;
        }
      }
    }
  }
}

// Memory that ends with a matrix: reading behind it is an error of the emulated device. Ends in
// every place of a chunk, in the first and the second of a row's last two, in rows shorter than a
// chunk.
TEST_F(GemmShortKMma, ReadNothingBehindTheOperands) {
  Device& device = *emulated_;
  const auto run_exactly = [&](const GemmProblem& problem) {
    const auto matrix = [&](std::int64_t elements, DataType type) {
      const std::size_t bytes = static_cast<std::size_t>(elements) * size_of(type);
      Buffer buffer = device.allocate(bytes, "exactly a matrix");
      device.fill(buffer.address(), 0, bytes);
      return buffer;
    };
    const MatmulShape& s = problem.shape;
    const Buffer a = matrix(s.m * s.k, problem.a.type), b = matrix(s.k * s.n, problem.b.type),
                 c = matrix(s.m * s.n, problem.c.type);
    prepare_short_k_mma(device, problem)
        ->run({.a = a.address(), .b = b.address(), .c = c.address()});
    device.synchronize();
  };
  for (const Precision precision : {Precision::bf16, Precision::tf32}) {
    for (const Order order : both_orders) {
      for (std::int64_t odd = 1; odd < 20; odd += 2) {
        const GemmProblem problem =
            short_k_mma_problem({32 + odd, 64 + odd, 16 + odd}, order, order, precision);
        EXPECT_NO_THROW(run_exactly(problem)) << odd;
      }
      for (const MatmulShape& shape :
           {MatmulShape{1, 1, 1}, {40, 3, 70}, {3, 70, 5}, {70, 40, 3}}) {
        EXPECT_NO_THROW(run_exactly(short_k_mma_problem(shape, order, order, precision)))
            << shape.m;
      }
    }
  }
}

TEST_F(GemmShortKMma, EveryPlan) {
  for (const Precision precision : {Precision::bf16, Precision::tf32}) {
    for (const MatmulShape& shape : {MatmulShape{135, 131, 23}, {131, 136, 75}, {70, 129, 203}}) {
      for (const Order order : both_orders) {
        GemmProblem problem = short_k_mma_problem(shape, order, order, precision);
        problem.beta = 0.5;
        problem.has_bias = true;
        const GemmCase of = generator_.filled(problem);
        for (const MmaSyncPlan& plan :
             short_k_mma_plan_candidates(problem, emulated_->properties())) {
          EXPECT_EQ(defects_of(of, plan), "")
              << plan.tile.rows << " x " << plan.tile.columns << ", " << plan.stages << " of "
              << plan.depth_bytes << " bytes";
        }
      }
    }
  }
}

TEST_F(GemmShortKMma, EpilogueAndBatches) {
  for (const std::int64_t n : {71, 72}) {
    GemmProblem problem = short_k_mma_problem({40, n, 24});
    problem.batch = 3;
    problem.beta = -1.5;
    problem.alpha = 0.5;
    problem.has_bias = problem.bias_per_row = true;
    problem.activation = Activation::gelu;
    EXPECT_EQ(defects_of(problem), "");
  }
}

TEST_F(GemmShortKMma, TheCheckerIsSilent) {
  LaunchFindings findings(*emulated_);
  for (const MatmulShape& shape : {MatmulShape{72, 80, 40}, {67, 71, 37}, {133, 150, 211}}) {
    for (const Order order : both_orders) {
      GemmProblem problem = short_k_mma_problem(shape, order, order);
      problem.beta = 1.0;
      EXPECT_EQ(defects_of(problem), "");
      EXPECT_EQ(findings.take(), "") << shape.m;
    }
  }
}

TEST(ShortKMma, RefusesWhatItCannotDo) {
  EXPECT_EQ(short_k_mma_refusal(short_k_mma_problem({8, 8, 8}), a100()), std::nullopt);
  EXPECT_EQ(short_k_mma_refusal(short_k_mma_problem({8, 8, 0}), a100()),
            "there is nothing to multiply");
  EXPECT_NE(short_k_mma_refusal(short_k_mma_problem({8, 8, 8}), t4()), std::nullopt)
      << "no bf16 before sm_80";
  const GemmProblem bytes = dense_problem({8, 8, 8}, Precision::int8, DataType::int8,
                                          DataType::int32, Order::row_major, Order::row_major);
  EXPECT_EQ(short_k_mma_refusal(bytes, a100()), "operands of 8 bits");
  GemmProblem problem = short_k_mma_problem({8, 8, 8});
  problem.b.leading = (1 << 24) + 1;
  EXPECT_EQ(short_k_mma_refusal(problem, a100()), "rows more than 16777216 elements apart");
}

TEST(ShortKMma, PaysWhereRowsBeginAnywhereAndKIsShort) {
  EXPECT_TRUE(short_k_mma_pays(short_k_mma_problem({511, 513, 127}), h200()));
  EXPECT_FALSE(short_k_mma_pays(short_k_mma_problem({512, 512, 64}), h200())) << "whole chunks";
  EXPECT_FALSE(short_k_mma_pays(short_k_mma_problem({511, 513, 129}), h200()));
  EXPECT_FALSE(short_k_mma_pays(short_k_mma_problem({511, 513, 65}), a100())) << "not measured";
  EXPECT_TRUE(short_k_mma_pays(short_k_mma_problem({1001, 1003, 65}), h200()));
  EXPECT_FALSE(short_k_mma_pays(short_k_mma_problem({1001, 1003, 73}), h200()));
  EXPECT_FALSE(short_k_mma_pays(short_k_mma_problem({4095, 4097, 17}), h200())) << "C is large";
  const auto adding_pays = [](const MatmulShape& shape) {
    GemmProblem problem = short_k_mma_problem(shape);
    problem.beta = 1.0;
    return short_k_mma_pays(problem, h200());
  };
  EXPECT_TRUE(adding_pays({511, 513, 223}));
  EXPECT_FALSE(adding_pays({1001, 1003, 223}));
  EXPECT_TRUE(adding_pays({1001, 1003, 143}));
  EXPECT_FALSE(adding_pays({2109, 2476, 79}));
  const auto tf32_pays = [](const MatmulShape& shape, Order b) {
    return short_k_mma_pays(short_k_mma_problem(shape, Order::row_major, b, Precision::tf32),
                            h200());
  };
  EXPECT_TRUE(tf32_pays({511, 513, 79}, Order::column_major));
  EXPECT_FALSE(tf32_pays({511, 513, 81}, Order::column_major));
  EXPECT_TRUE(tf32_pays({511, 513, 39}, Order::row_major));
  EXPECT_FALSE(tf32_pays({511, 513, 41}, Order::row_major))
      << "register_operand reads B where it lies";
  EXPECT_FALSE(tf32_pays({901, 903, 23}, Order::row_major));
  EXPECT_TRUE(tf32_pays({901, 903, 43}, Order::column_major));
  EXPECT_FALSE(tf32_pays({901, 903, 45}, Order::column_major));
}

// By the model alone; networks take 32 x 64 for the first.
TEST(ShortKMma, TilesAreSmallWhereEachSmHasOne) {
  const auto elements = [](const MatmulShape& shape) {
    const GemmProblem problem = short_k_mma_problem(shape);
    const auto plans = short_k_mma_plan_candidates(problem, h200());
    const auto cycles = [&](const MmaSyncPlan& plan) {
      return expected_time(problem, plan, h200().sm_count).cycles;
    };
    const MmaSyncTile tile =
        std::min_element(plans.begin(), plans.end(), [&](const auto& one, const auto& other) {
          return cycles(one) < cycles(other);
        })->tile;
    return tile.rows * tile.columns;
  };
  EXPECT_EQ(elements({131, 211, 77}), 32 * 32);
  EXPECT_EQ(elements({490, 491, 77}), 32 * 64);
  EXPECT_EQ(elements({1511, 1513, 77}), 64 * 128);
}

TEST(ShortKMma, CompilesWithoutWarningsAndSpillsNothing) {
  for (const DeviceProperties& device : {a100(), h200()}) {
    for (const std::int64_t k : {20, 70, 300}) {
      for (const Order order : both_orders) {
        for (const double beta : {0.0, 1.0}) {
          GemmProblem problem = short_k_mma_problem({700, 701, k}, order, order);
          problem.beta = beta;
          for (const MmaSyncPlan& plan : short_k_mma_plan_candidates(problem, device)) {
            const KernelRequest request =
                short_k_mma_request(problem, device, plan, chunk_access(problem, {}));
            const compile::Program program = compiled(request, device);
            EXPECT_THAT(program.log,
                        HasSubstr("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"))
                << plan.tile.rows << " x " << plan.tile.columns << ", k " << k;
            EXPECT_THAT(program.log, ::testing::Not(HasSubstr("warning")));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tilescope::operations
