// Products of 8-bit floats with factors: of a matrix, of rows and columns, of blocks; on the CPU
// and on emulated GPUs, beside sums in float64.
#include <gmock/gmock.h>

#include <tilescope/gemm.hpp>
#include <tilescope/matmul.hpp>
#include <vector>

#include "device/emulated/emulated_device.hpp"
#include "operations/gemm/dispatch/gemm_variants.hpp"
#include "operations/gemm/dispatch/plan_recorder.hpp"
#include "support/gemm_kernels.hpp"
#include "support/launch_findings.hpp"
#include "support/scaled_product.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

using testing::ScaledProduct;
using Kind = testing::ScaleKind;
using testing::Factors;

TEST(Scales, OfEveryKindOnEveryDevice) {
  for (const auto& [name, variant] :
       {std::pair{"cpu", ""}, {"emulated:t4", ""}, {"emulated:h200", "tensor_tiles"}}) {
    const auto device = Device::open(name);
    for (const Kind of_a : testing::scale_kinds) {
      for (const Kind of_b : testing::scale_kinds) {
        ScaledProduct product({70, 150, 270}, of_a, of_b);
        const MatmulReport report = product.run(*device, variant);
        EXPECT_EQ(product.defects(), "") << name << ": " << int(of_a) << ' ' << int(of_b);
        EXPECT_EQ(report.precision, Precision::fp8_e4m3);
        EXPECT_EQ(report.scale_a, 1.0);
      }
    }
  }
}

TEST(Scales, InEveryOrderOfTheMatrices) {
  for (const auto& [name, variant] :
       {std::pair{"cpu", ""}, {"emulated:t4", ""}, {"emulated:h200", "tensor_tiles"}}) {
    const auto device = Device::open(name);
    for (const Kind kind : {Kind::vectors, Kind::blocks}) {
      for (int orders = 1; orders < 8; ++orders) {
        ScaledProduct product({140, 48, 200}, kind, kind);
        const auto order = [&](int bit) {
          return (orders & bit) != 0 ? Order::column_major : Order::row_major;
        };
        product.a_order = order(1);
        product.b_order = order(2);
        product.c_order = order(4);
        product.run(*device, variant);
        EXPECT_EQ(product.defects(), "") << name << ": " << int(kind) << ' ' << orders;
      }
    }
  }
}

TEST(Scales, BesideBiasAndWhatIsAdded) {
  for (const auto& [name, variant] :
       {std::pair{"cpu", ""}, {"emulated:a100", "general"}, {"emulated:h200", "tensor_tiles"}}) {
    const auto device = Device::open(name);
    ScaledProduct product({33, 144, 300}, Kind::blocks, Kind::blocks);
    product.beta = -2.0;
    product.c.assign(product.c.size(), 3.0F);
    product.bias.assign(144, 1.0F);
    product.bias[7] = -50.0F;
    const std::vector<float> before = product.c;
    product.run(*device, variant);
    EXPECT_EQ(product.defects(before), "") << name;
  }
}

// Every tile that the model ranks, in all kinds of factors.
TEST(Scales, OnEveryTensorTileTheCheckerIsSilent) {
  auto device = std::make_shared<device::EmulatedDevice>("h200");
  testing::LaunchFindings findings(*device);
  Device& on = *device;
  for (const Kind kind : {Kind::matrix, Kind::vectors, Kind::blocks}) {
    const ScaledProduct product({200, 272, 300}, kind, kind);
    operations::GemmProblem problem =
        operations::dense_problem(product.shape, Precision::fp8_e4m3, DataType::float8_e4m3,
                                  DataType::float32, Order::row_major, Order::column_major);
    const auto plans = operations::gemm_variant("tensor_tiles").plans(problem, testing::hopper());
    for (std::size_t i = 0; i < plans.size(); i += plans.size() / 6 + 1) {
      ScaledProduct one = product;
      one.b_order = Order::column_major;
      const auto put = [&](const auto& list, const char* name) {
        const std::size_t bytes = list.size() * sizeof(list[0]);
        Buffer buffer = on.allocate(bytes, name);
        on.copy_to_device(buffer.address(), list.data(), bytes);
        return buffer;
      };
      const Buffer a = put(one.a, "A"), b = put(one.b, "B"), c = put(one.c, "C");
      const Buffer of_a = put(one.scale_a.values, "scales of A");
      const Buffer of_b = put(one.scale_b.values, "scales of B");
      problem.alpha = 0.5;
      const operations::ScaleLayout none;
      problem.scale_a = problem.scale_b = none;
      problem.scale_a.count = problem.scale_b.count = 1;
      problem.scale_a.pitch = problem.scale_b.pitch = 1;
      if (kind == Kind::matrix) {
        problem.scale_a.pitch = problem.scale_b.pitch = 0;
        problem.scale_a.shift = problem.scale_b.shift = operations::ScaleLayout::shift_of_all;
      }
      if (kind == Kind::blocks) {
        problem.scale_a.pitch = static_cast<std::int32_t>(one.scale_a.columns);
        problem.scale_a.step_pitch = 1;
        problem.scale_b.shift = operations::ScaleLayout::shift_of_block;
        problem.scale_b.step_pitch = static_cast<std::int32_t>(one.scale_b.columns);
      }
      operations::gemm_variant("tensor_tiles")
          .prepare_plan(on, problem, plans[i].text)
          ->run({.a = a.address(),
                 .b = b.address(),
                 .c = c.address(),
                 .scale_a = of_a.address(),
                 .scale_b = of_b.address()});
      on.copy_to_host(one.c.data(), c.address(), one.c.size() * sizeof(float));
      EXPECT_EQ(one.defects(), "") << plans[i].text;
      EXPECT_EQ(findings.take(), "") << plans[i].text;
    }
  }
}

TEST(Scales, CompileWithoutSpillsForHopper) {
  for (const Kind kind : {Kind::matrix, Kind::vectors, Kind::blocks}) {
    operations::GemmProblem problem =
        operations::dense_problem({4096, 4096, 4096}, Precision::fp8_e4m3, DataType::float8_e4m3,
                                  DataType::bfloat16, Order::row_major, Order::column_major);
    problem.scale_a.count = problem.scale_b.count = 1;
    problem.scale_a.step_pitch = kind == Kind::blocks ? 1 : 0;
    problem.scale_b.shift = kind == Kind::vectors  ? 0
                            : kind == Kind::blocks ? operations::ScaleLayout::shift_of_block
                                                   : operations::ScaleLayout::shift_of_all;
    const operations::Plan plan = operations::recorded_plan(
        operations::gemm_variant("tensor_tiles"), problem, testing::hopper());
    const std::string log =
        testing::compiler_log("gemm/tensor_tiles.cu", plan.steps.back().defines);
    EXPECT_THAT(log, HasSubstr("0 bytes spill stores")) << int(kind);
  }
}

// Operands and factors in device memory: those of a call and of a kept product.
TEST(Scales, OfMatricesInDeviceMemory) {
  const auto device = Device::open("emulated:h200");
  Gemm gemm(device);
  for (const Kind kind : testing::scale_kinds) {
    ScaledProduct product({40, 136, 260}, kind, kind);
    const auto put = [&](const auto& list) {
      const std::size_t bytes = list.size() * sizeof(list[0]);
      Buffer buffer = device->allocate(bytes, "operand");
      device->copy_to_device(buffer.address(), list.data(), bytes);
      return buffer;
    };
    const Buffer a = put(product.a), b = put(product.b), c = put(product.c);
    const Buffer of_a = put(product.scale_a.values), of_b = put(product.scale_b.values);
    const auto data = [](const Buffer& buffer) {
      return reinterpret_cast<void*>(buffer.address());
    };
    const auto there = [&](const Factors& factors, const Buffer& buffer) {
      return OperandScales{{static_cast<const float*>(data(buffer)), factors.values.size()},
                           factors.rows,
                           factors.columns};
    };
    MatmulOptions options = product.options("");
    options.scale_a = there(product.scale_a, of_a);
    options.scale_b = there(product.scale_b, of_b);
    for (int i = 0; i < 2; ++i) {
      device->fill(c.address(), 0xFF, product.c.size() * sizeof(float));
      gemm(product.view_of_a(data(a)), product.view_of_b(data(b)), product.view_of_c(data(c)),
           options);
      device->copy_to_host(product.c.data(), c.address(), product.c.size() * sizeof(float));
      EXPECT_EQ(product.defects(), "") << int(kind);
    }
  }
}

TEST(Scales, OfAnotherShapeOrTypeAreRefused) {
  const auto cpu = Device::open("cpu");
  const auto refusal = [&](const auto& change, const MatmulShape& shape = {4, 200, 300}) {
    ScaledProduct product(shape, Kind::blocks, Kind::blocks);
    change(product);
    return error_of(ErrorKind::usage, [&] { product.run(*cpu); });
  };
  EXPECT_THAT(refusal([](auto& p) { p.scale_a.columns = 2; }),
              HasSubstr("the scales of A are 12 values for a shape of 4 x 2"));
  EXPECT_THAT(refusal([](auto& p) {
                p.scale_a.values.resize(8);
                p.scale_a.columns = 2;
              }),
              HasSubstr("the scales of A are 4 x 2: expected 1 x 1, 4 x 1 or 4 x 3"));
  EXPECT_THAT(refusal([](auto& p) { std::swap(p.scale_b.rows, p.scale_b.columns); }),
              HasSubstr("the scales of B are 2 x 3: expected 1 x 1, 1 x 200 or 3 x 2"));
  std::vector<float> a(12), c(16);
  const std::vector<float> one{2.0F};
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] {
                         matmul(*cpu, a, a, c, {4, 4, 3},
                                {.precision = Precision::fp8_e4m3, .scale_a = {one, 1, 1}});
                       }),
              HasSubstr("scales belong to 8-bit floats"));
  const std::vector<ConstMatrixView> lists{dense_view(a.data(), DataType::float32, 3, 4)};
  const std::vector<ConstMatrixView> others{dense_view(a.data(), DataType::float32, 4, 3)};
  const std::vector<MatrixView> results{dense_view(c.data(), DataType::float32, 3, 3)};
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] {
                         matmul_grouped(*cpu, lists, others, results, {.scale_a = {one, 1, 1}});
                       }),
              HasSubstr("scales are for single products"));
}

}  // namespace
}  // namespace tilescope
