// The matmul ladder in every precision: its rungs, its operands, and its bounds.
#include "operations/gemm/ladder/gemm_operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tilescope/error.hpp>

#include "measure/ladder.hpp"
#include "measure/verification.hpp"
#include "operations/gemm/dispatch/gemm_variants.hpp"
#include "operations/gemm/dispatch/plan_recorder.hpp"
#include "operations/gemm/problem/accuracy.hpp"
#include "operations/matmul/matmul_operation.hpp"
#include "support/arrays.hpp"
#include "support/gpus.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::operations {
namespace {

using ::testing::Contains;
using testing::error_of;
using ::testing::HasSubstr;

constexpr Precision ladder_precisions[] = {
    Precision::fp32_fast, Precision::tf32,     Precision::bf16,     Precision::fp16,
    Precision::fp64,      Precision::fp8_e4m3, Precision::fp8_e5m2, Precision::int8};

std::vector<std::string> names_of(const Operation& operation) {
  std::vector<std::string> names;
  for (const VariantInfo& variant : operation.variants()) names.push_back(variant.name);
  return names;
}

VariantInfo info(const Operation& operation, std::string_view name) {
  for (const VariantInfo& variant : operation.variants()) {
    if (variant.name == name) return variant;
  }
  throw std::runtime_error("no variant " + std::string(name));
}

std::vector<double> values(const HostArray& array) {
  std::vector<double> wide(array.count());
  widen(array.view(), 0, wide);
  return wide;
}

DeviceProperties real_h200() {
  DeviceProperties device = testing::h200();
  device.warpgroup_products = true;
  return device;
}

TEST(GemmOperation, OperandsHaveThePrecisionsType) {
  const std::pair<Precision, DataType> types[] = {{Precision::bf16, DataType::bfloat16},
                                                  {Precision::fp16, DataType::float16},
                                                  {Precision::tf32, DataType::float32},
                                                  {Precision::fp32_fast, DataType::float32},
                                                  {Precision::fp64, DataType::float64}};
  for (const auto& [precision, type] : types) {
    const GemmOperation operation({30, 40, 50}, precision, 1);
    EXPECT_EQ(operation.a().type(), type);
    EXPECT_EQ(operation.b().type(), type);
    EXPECT_EQ(operation.problem().c.type, type);
    const std::vector<double> a = values(operation.a());
    EXPECT_EQ(a, values(GemmOperation({30, 40, 50}, precision, 1).a()));
    EXPECT_NE(a, values(GemmOperation({30, 40, 50}, precision, 2).a()));
    EXPECT_LE(*std::max_element(a.begin(), a.end()), 1.0);
    EXPECT_GT(*std::max_element(a.begin(), a.end()), 0.98);
    EXPECT_GE(*std::min_element(a.begin(), a.end()), -1.0);
    EXPECT_LT(*std::min_element(a.begin(), a.end()), -0.98);
  }
}

// Operands of 8 bits: C is wider, and both lie along k, as tensor cores and cuBLAS take them.
TEST(GemmOperation, SumsOf8BitOperandsAreExact) {
  for (const Precision precision : {Precision::fp8_e4m3, Precision::fp8_e5m2, Precision::int8}) {
    const GemmOperation operation({30, 40, 500}, precision, 1);
    EXPECT_EQ(operation.a().type(), operand_type(precision));
    EXPECT_EQ(operation.problem().b.order, Order::column_major);
    EXPECT_EQ(operation.problem().c.type,
              precision == Precision::int8 ? DataType::int32 : DataType::bfloat16);
    EXPECT_EQ(operation.work().rate, "fp8_tensor");
    const std::vector<double> a = values(operation.a());
    EXPECT_EQ(a, values(GemmOperation({30, 40, 500}, precision, 1).a()));
    const double largest = precision == Precision::int8 ? 127.0 : 1.0;
    EXPECT_EQ(*std::max_element(a.begin(), a.end()), largest);
    std::vector<double> want(1), bound(1), peer_bound(1);
    operation.expected(info(operation, "general")).get(7, want, bound);
    operation.expected(info(operation, "cublas")).get(7, want, peer_bound);
    if (precision == Precision::int8) {
      EXPECT_EQ(bound[0], 0.0);
      EXPECT_EQ(peer_bound[0], 0.0);
    } else {
      EXPECT_DOUBLE_EQ(bound[0], 0x1p-8 * std::abs(want[0]) + 0x1p-134);
      EXPECT_GT(peer_bound[0], bound[0]);
    }
  }
}

TEST(GemmOperation, SizeAndWork) {
  const GemmOperation operation({10, 20, 30}, Precision::bf16, 1);
  EXPECT_EQ(operation.size_text(), "10 x 20 x 30 in bf16");
  EXPECT_EQ(operation.work().flops, 2.0 * 10 * 20 * 30);
  EXPECT_EQ(operation.work().bytes, 2.0 * (10 * 30 + 30 * 20 + 10 * 20));
  // The rate that it may reach is not that of the FP32 units.
  EXPECT_EQ(operation.work().rate, "bf16_tensor");
  EXPECT_EQ(GemmOperation({1, 1, 1}, Precision::tf32, 1).work().rate, "tf32_tensor");
}

TEST(GemmOperation, RungsAreTheVariantsThatComputeThePrecisionAndOnePeer) {
  for (const Precision precision : ladder_precisions) {
    const GemmOperation operation({1, 1, 1}, precision, 1);
    const std::vector<std::string> names = names_of(operation);
    EXPECT_EQ(names.front(), "general");
    EXPECT_EQ(names.back(), "cublas");
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
    const auto variants = operation.variants();
    EXPECT_EQ(std::count_if(variants.begin(), variants.end(), [](auto& v) { return v.is_peer; }),
              1);
    for (const std::string& name : names) EXPECT_EQ(operation.variant_name(name), name);
    EXPECT_EQ(names_of(GemmOperation({999, 3, 5}, precision, 1)), names) << "of any shape";
  }
}

TEST(GemmOperation, AVariantThatRefusesAPrecisionIsNoRungOfIt) {
  const DeviceProperties device = real_h200();
  for (const Precision precision : ladder_precisions) {
    const DataType type = operand_type(precision), c_type = usual_result_type(precision);
    const std::vector<std::string> names = names_of(GemmOperation({1, 1, 1}, precision, 1));
    for (const GemmVariant& variant : gemm_variants()) {
      const bool takes_some =
          !variant.refusal(dense_problem({2048, 2048, 2048}, precision, type, c_type), device) ||
          !variant.refusal(dense_problem({2048, 1, 2048}, precision, type, c_type), device);
      const bool is_rung = std::find(names.begin(), names.end(), variant.name) != names.end();
      EXPECT_EQ(is_rung, takes_some) << variant.name << " in " << name_of(precision);
    }
  }
}

TEST(GemmOperation, AnUnknownRungIsAnErrorThatSuggests) {
  const GemmOperation operation({1, 1, 1}, Precision::bf16, 1);
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { operation.variant_name("genral"); }),
              HasSubstr("did you mean general?"));
}

TEST(GemmOperation, EveryRungIsRightOnTheEmulatedDeviceOrSkipped) {
  const auto emulated = Device::open("emulated");
  for (const Precision precision : ladder_precisions) {
    const GemmOperation operation({33, 50, 21}, precision, 3);
    int ok = 0;
    for (const measure::RungResult& result : measure::climb(operation, *emulated)) {
      SCOPED_TRACE(result.variant.name + ": " + result.reason);
      EXPECT_NE(result.verdict, measure::Verdict::wrong);
      EXPECT_EQ(result.verdict == measure::Verdict::skipped, !result.reason.empty());
      ok += result.verdict == measure::Verdict::ok;
    }
    EXPECT_GE(ok, 1);
  }
}

TEST(GemmOperation, AnElementOutsideItsBoundIsFound) {
  const auto emulated = Device::open("emulated");
  for (const Precision precision : ladder_precisions) {
    const GemmOperation operation({20, 30, 40}, precision, 3);
    const VariantInfo general = info(operation, "general");
    const auto prepared = operation.prepare(general, *emulated);
    prepared->poison(0);
    EXPECT_EQ(measure::verify(prepared->output(0), operation.expected(general)).wrong, 600u);
    prepared->run(0);
    const HostArray c = prepared->output(0);
    EXPECT_TRUE(measure::verify(c, operation.expected(general)).ok());
    // The same result against another product's expectations.
    const GemmOperation other({20, 30, 40}, precision, 4);
    EXPECT_GT(measure::verify(c, other.expected(general)).wrong, 500u);
  }
}

TEST(GemmOperation, ExpectsTheProductOfWhatTheKernelMultiplies) {
  const GemmOperation operation({2, 3, 4}, Precision::tf32, 5);
  std::vector<double> a(8), b(12), want(6), bounds(6), peer_bounds(6);
  widen_operand(operation.a().view(), Precision::tf32, 0, a);
  widen_operand(operation.b().view(), Precision::tf32, 0, b);
  operation.expected(info(operation, "general")).get(0, want, bounds);
  operation.expected(info(operation, "cublas")).get(0, want, peer_bounds);
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      double value = 0, magnitude = 0;
      for (std::size_t p = 0; p < 4; ++p) {
        value += a[i * 4 + p] * b[p * 3 + j];
        magnitude += std::abs(a[i * 4 + p] * b[p * 3 + j]);
      }
      EXPECT_NEAR(want[i * 3 + j], value, 1e-15);
      EXPECT_NEAR(bounds[i * 3 + j], 6 * 0x1p-23 * magnitude, 1e-15);
      EXPECT_GT(peer_bounds[i * 3 + j], bounds[i * 3 + j]);
    }
  }
}

TEST(GemmOperation, RefusalsNameTheReason) {
  const auto cpu = Device::open("cpu"), emulated = Device::open("emulated");
  const GemmOperation operation({8, 8, 8}, Precision::bf16, 1),
      empty({0, 8, 8}, Precision::bf16, 1);
  EXPECT_EQ(operation.refusal(info(operation, "general"), *cpu),
            "a kernel: needs a GPU or --device emulated");
  EXPECT_EQ(operation.refusal(info(operation, "cublas"), *emulated), "needs a GPU");
  EXPECT_EQ(operation.refusal(info(operation, "general"), *emulated), std::nullopt);
  EXPECT_EQ(empty.refusal(info(empty, "general"), *emulated), "C has no elements");
}

TEST(GemmPlan, IsWhatTheVariantLaunches) {
  const GemmProblem problem =
      dense_problem({100, 70, 30}, Precision::bf16, DataType::bfloat16, DataType::bfloat16);
  const Plan plan = recorded_plan(gemm_variant("general"), problem, testing::h200());
  ASSERT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(plan.steps[0].kernel, "gemm");
  EXPECT_EQ(plan.steps[0].source, "gemm/general.cu");
  EXPECT_EQ(plan.steps[0].launch.block, (Dim3{256}));
  EXPECT_THAT(plan.steps[0].defines,
              Contains(std::pair<std::string, std::string>{"A_TYPE", "bfloat16"}));
}

TEST(GemmPlan, EveryVariantHasOneForWhatItTakes) {
  const DeviceProperties device = real_h200();
  for (const GemmVariant& variant : gemm_variants()) {
    int taken = 0;
    for (const Precision precision : {Precision::fp32, Precision::fp32_fast, Precision::tf32,
                                      Precision::bf16, Precision::fp16, Precision::fp64}) {
      const DataType type = operand_type(precision);
      for (const MatmulShape& shape : {MatmulShape{1024, 1024, 1024}, {33, 35, 37}, {64, 1, 100}}) {
        for (const std::int64_t batch : {1, 3}) {
          GemmProblem problem = dense_problem(shape, precision, type, type);
          problem.batch = batch;
          if (variant.refusal(problem, device)) continue;
          SCOPED_TRACE(fmt::format("{} {} x {}", variant.name, shape_text(shape), batch));
          ++taken;
          const Plan plan = recorded_plan(variant, problem, device);
          ASSERT_FALSE(plan.steps.empty());
          for (const Step& step : plan.steps) EXPECT_THAT(step.source, HasSubstr("gemm/"));
        }
      }
    }
    EXPECT_GT(taken, 0) << variant.name;
  }
}

TEST(GemmPlan, OfThePeerThereIsNone) {
  const GemmOperation operation({8, 8, 8}, Precision::bf16, 1);
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] { operation.plan(info(operation, "cublas"), testing::h200()); }),
              HasSubstr("matmul/cublas is not a Tilescope kernel"));
}

TEST(GemmAccuracy, Tf32IsCutNotRounded) {
  HostArray array(DataType::float32, 3);
  array.as<float>()[0] = 0x1.fffffep0F;  // all bits set
  array.as<float>()[1] = -0x1.002p0F;    // the 11th bit behind the point is lost
  array.as<float>()[2] = 0x1.004p0F;     // the 10th stays
  std::vector<double> cut(3), whole(3);
  widen_operand(array.view(), Precision::tf32, 0, cut);
  EXPECT_EQ(cut, (std::vector<double>{0x1.ffcp0, -1.0, 0x1.004p0}));
  widen_operand(array.view(), Precision::fp32, 0, whole);
  EXPECT_EQ(whole, (std::vector<double>{0x1.fffffep0, -0x1.002p0, 0x1.004p0}));
}

TEST(GemmAccuracy, Bounds) {
  EXPECT_EQ(product_bound(Precision::fp32, DataType::float32, 6, 1.0, 4.0), 8 * 0x1p-24 * 4);
  EXPECT_EQ(product_bound(Precision::fp32_fast, DataType::float32, 6, 1.0, 4.0), 8 * 0x1p-24 * 4);
  EXPECT_EQ(product_bound(Precision::tf32, DataType::float32, 6, 1.0, 4.0), 8 * 0x1p-23 * 4);
  EXPECT_EQ(product_bound(Precision::bf16, DataType::float32, 6, 1.0, 4.0), 8 * 0x1p-23 * 4);
  EXPECT_EQ(product_bound(Precision::fp64, DataType::float64, 6, 1.0, 4.0), 8 * 0x1p-52 * 4);
  // A narrower C is rounded once more.
  const double sum = 8 * 0x1p-23 * 4;
  EXPECT_EQ(product_bound(Precision::bf16, DataType::bfloat16, 6, -1.0, 4.0),
            sum + 0x1p-8 * (1.0 + sum) + 0x1p-134);
  EXPECT_EQ(product_bound(Precision::fp16, DataType::float16, 6, -1.0, 4.0),
            sum + 0x1p-11 * (1.0 + sum) + 0x1p-25);
  for (const Precision precision : ladder_precisions) {
    EXPECT_EQ(peer_slack(precision) > 0.0,
              precision == Precision::tf32 || has_float8_operands(precision));
  }
  EXPECT_EQ(product_bound(Precision::int8, DataType::int32, 6, 1.0, 4.0), 0.0);
  EXPECT_EQ(product_bound(Precision::fp8_e4m3, DataType::float32, 6, 1.0, 4.0),
            (136 * 0x1p-13 + 8 * 0x1p-24) * 4);
}

TEST(MatmulOperationInFp32, HasTheGemmVariantsBelowThePeer) {
  const MatmulOperation operation({40, 30, 20}, 1);
  const std::vector<std::string> names = names_of(operation);
  const auto at = [&](std::string_view name) {
    return std::find(names.begin(), names.end(), name) - names.begin();
  };
  EXPECT_EQ(names.back(), "cublas");
  EXPECT_LT(at("warp_tiles"), at("general"));
  EXPECT_LT(at("general"), at("cublas"));
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  EXPECT_EQ(operation.variant_name("general"), "general");
  const auto emulated = Device::open("emulated");
  const auto results = measure::climb(operation, *emulated, {.only = {"general"}});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].verdict, measure::Verdict::ok) << results[0].reason;
}

}  // namespace
}  // namespace tilescope::operations
