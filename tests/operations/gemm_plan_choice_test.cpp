// Choices between kernels by what networks expect of their plans: fp32's two, and those of few
// steps of k on tensor cores beside those of long k.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "operations/gemm/dispatch/gemm_variants.hpp"
#include "operations/gemm/general/short_k.hpp"
#include "operations/gemm/general/short_k_mma.hpp"
#include "operations/gemm/general/short_k_mma_network.hpp"
#include "operations/gemm/general/short_k_network.hpp"
#include "operations/gemm/hopper/ffma_network.hpp"
#include "operations/gemm/hopper/ffma_plan.hpp"
#include "support/gemm_kernels.hpp"
#include "support/plan_factors.hpp"

namespace tilescope::operations {
namespace {

using testing::expect_a_factor;
using testing::hopper;

GemmProblem product(const MatmulShape& shape, Precision precision = Precision::fp32,
                    Order a = Order::row_major, Order b = Order::row_major) {
  const DataType type = operand_type(precision);
  return dense_problem(shape, precision, type, type, a, b);
}

const std::vector<MatmulShape> known_shapes{
    {64, 64, 16}, {1000, 1000, 1000}, {3000, 3000, 3000}, {4095, 97, 4099}, {6024, 2640, 40}};

TEST(Fp32Networks, HaveAFactorForEveryPlanOfAKnownProduct) {
  for (const MatmulShape& shape : known_shapes) {
    const GemmProblem problem = product(shape);
    for (const FfmaPlan& plan : ffma_plan_candidates(problem, hopper())) {
      expect_a_factor(ffma_network, timed_features(problem, plan, hopper().sm_count).features);
    }
    for (const ShortKPlan& plan : short_k_plan_candidates(problem, hopper())) {
      expect_a_factor(short_k_network, timed_features(problem, plan, hopper().sm_count).features);
    }
  }
}

TEST(ShortKMmaNetworks, HaveAFactorForEveryPlanOfAKnownProduct) {
  for (const Precision precision : {Precision::bf16, Precision::tf32}) {
    for (const MatmulShape& shape : {MatmulShape{64, 64, 16}, {1001, 1003, 77}, {97, 8191, 260}}) {
      const GemmProblem problem = product(shape, precision);
      const ShortKMmaNetwork* network = short_k_mma_network_for(problem);
      ASSERT_NE(network, nullptr);
      for (const MmaSyncPlan& plan : short_k_mma_plan_candidates(problem, hopper())) {
        expect_a_factor(*network, timed_features(problem, plan, hopper().sm_count).features);
      }
    }
  }
}

TEST(ShortKMmaNetworks, KnowProductsLikeThoseTheyWereTrainedOn) {
  const auto of = [](const MatmulShape& shape, Precision precision = Precision::bf16) {
    return short_k_mma_network_for(product(shape, precision));
  };
  EXPECT_EQ(of({64, 8192, 16}), &short_k_mma_network);
  EXPECT_EQ(of({64, 8192, 16}, Precision::fp16), &short_k_mma_network);
  EXPECT_EQ(of({64, 8192, 16}, Precision::tf32), &short_k_mma_network_tf32);
  EXPECT_EQ(of({64, 8192, 261}), nullptr);
  EXPECT_EQ(of({63, 8192, 64}), nullptr);
  EXPECT_EQ(of({64, 8193, 64}), nullptr);
  GemmProblem to_float = product({512, 512, 64}, Precision::bf16);
  to_float.c.type = DataType::float32;
  EXPECT_EQ(short_k_mma_network_for(to_float), nullptr);
}

// The model's plan is the first where networks know nothing, and its cycles are left as they are.
TEST(Fp32Networks, LeaveOtherProductsToTheModel) {
  for (const MatmulShape& shape : {MatmulShape{8192, 8192, 8192}, {63, 4096, 512}, {512, 512, 8}}) {
    const GemmProblem problem = product(shape);
    for (const FfmaPlan& plan : ffma_plan_candidates(problem, hopper())) {
      EXPECT_EQ(plan.cycles, timed_features(problem, plan, hopper().sm_count).cycles);
    }
    for (const ShortKPlan& plan : short_k_plan_candidates(problem, hopper())) {
      EXPECT_EQ(plan.cycles, timed_features(problem, plan, hopper().sm_count).cycles);
    }
  }
}

TEST(Fp32Networks, LeavePlansInTheOrderOfTheirCycles) {
  const auto is_faster = [](const auto& one, const auto& other) {
    return one.cycles < other.cycles;
  };
  for (const MatmulShape& shape : known_shapes) {
    const auto ffma = ffma_plan_candidates(product(shape), hopper());
    EXPECT_TRUE(std::is_sorted(ffma.begin(), ffma.end(), is_faster));
    const auto short_k = short_k_plan_candidates(product(shape), hopper());
    EXPECT_TRUE(std::is_sorted(short_k.begin(), short_k.end(), is_faster));
    EXPECT_EQ(best_ffma_plan(product(shape), hopper()).cycles, ffma.front().cycles);
  }
}

// Products whose fastest plan of the one kernel took at least an eighth less time on an H200 than
// that of the other, and that the models alone had given to the slower.
struct MeasuredChoice {
  MatmulShape shape;
  Order a, b;
  double beta;
  std::string_view faster;
  Precision precision = Precision::fp32;
};
TEST(PlanChoice, TakesTheKernelThatWasFaster) {
  constexpr Order rows = Order::row_major, columns = Order::column_major;
  constexpr MeasuredChoice measured_choices[] = {
      {{320, 4536, 1832}, columns, columns, 1.0, "ffma_tiles"},
      {{2400, 648, 400}, columns, columns, 0.0, "ffma_tiles"},
      {{155, 4935, 1119}, rows, rows, 0.0, "ffma_tiles"},
      {{824, 5157, 1608}, columns, rows, 0.0, "ffma_tiles"},
      {{890, 1092, 217}, rows, columns, 1.0, "ffma_tiles"},
      {{6691, 895, 298}, rows, columns, 0.0, "short_k"},
      {{904, 2378, 63}, rows, rows, 0.0, "tensor_tiles", Precision::bf16},
      {{213, 176, 180}, columns, rows, 0.0, "short_k_mma", Precision::bf16},
      {{1693, 7641, 47}, columns, columns, 1.0, "tensor_tiles", Precision::tf32},
      {{311, 4895, 30}, rows, rows, 0.0, "short_k_mma", Precision::tf32},
      {{121, 237, 53}, columns, rows, 0.0, "short_k", Precision::bf16},
      {{443, 450, 160}, rows, rows, 0.0, "register_operand", Precision::tf32},
      {{181, 234, 65}, rows, columns, 0.0, "short_k", Precision::tf32}};
  for (const MeasuredChoice& choice : measured_choices) {
    SCOPED_TRACE(choice.shape.m);
    GemmProblem problem = product(choice.shape, choice.precision, choice.a, choice.b);
    problem.beta = choice.beta;
    EXPECT_EQ(best_gemm_variant(problem, hopper()).name, choice.faster);
  }
}

// Where rows are whole chunks nothing is copied before tensor_tiles, and no other GPU was measured.
TEST(PlanChoice, LeavesShortKOnTensorCoresToWhatWasMeasured) {
  const auto name = [](const MatmulShape& shape, const DeviceProperties& device) {
    return best_gemm_variant(product(shape, Precision::bf16), device).name;
  };
  EXPECT_EQ(name({512, 512, 64}, hopper()), "tensor_tiles");
  EXPECT_EQ(name({1324, 161, 85}, hopper()), "short_k_mma");
  EXPECT_EQ(name({1324, 161, 85}, testing::a100()), "mma_sync");
}

}  // namespace
}  // namespace tilescope::operations
