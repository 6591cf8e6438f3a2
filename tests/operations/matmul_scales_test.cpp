// Products of 8-bit floats with factors: of a matrix, of rows and columns, of blocks; on the CPU
// and on emulated GPUs, beside sums in float64.
#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <tilescope/gemm.hpp>
#include <tilescope/matmul.hpp>
#include <vector>

#include "base/float8.hpp"
#include "device/emulated/emulated_device.hpp"
#include "operations/gemm/dispatch/gemm_variants.hpp"
#include "operations/gemm/dispatch/plan_recorder.hpp"
#include "operations/gemm/problem/accuracy.hpp"
#include "support/gemm_kernels.hpp"
#include "support/launch_findings.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

constexpr std::int64_t block = 128;
std::int64_t blocks_of(std::int64_t count) {
  return (count + block - 1) / block;
}

enum class Kind { none, matrix, vectors, blocks };
constexpr Kind kinds[] = {Kind::none, Kind::matrix, Kind::vectors, Kind::blocks};

struct Factors {
  std::vector<float> values;
  std::int64_t rows = 0, columns = 0;
  OperandScales scales() const { return {values, rows, columns}; }
};

// A product, its operands and factors. Factors differ by up to 2^8, so that a wrong one shows.
struct ScaledProduct {
  MatmulShape shape;
  Kind of_a, of_b;
  Order a_order = Order::row_major, b_order = Order::row_major, c_order = Order::row_major;
  double beta = 0.0;
  std::vector<std::uint8_t> a, b;
  std::vector<float> c, bias;
  Factors scale_a, scale_b;
  std::mt19937 generator{5};

  ScaledProduct(const MatmulShape& of, Kind a_kind, Kind b_kind)
      : shape(of), of_a(a_kind), of_b(b_kind) {
    std::uniform_real_distribution<double> values(-4.0, 4.0);
    const auto fill = [&](std::vector<std::uint8_t>& list, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) list.push_back(float64_to_e4m3(values(generator)));
    };
    fill(a, of.m * of.k);
    fill(b, of.k * of.n);
    c.assign(static_cast<std::size_t>(of.m * of.n), std::nanf(""));
    scale_a = factors(a_kind, of.m, 1, of.m, blocks_of(of.k));
    scale_b = factors(b_kind, 1, of.n, blocks_of(of.k), blocks_of(of.n));
  }

  Factors factors(Kind kind, std::int64_t rows, std::int64_t columns, std::int64_t block_rows,
                  std::int64_t block_columns) {
    Factors made;
    if (kind == Kind::none) return made;
    made.rows = kind == Kind::matrix ? 1 : kind == Kind::vectors ? rows : block_rows;
    made.columns = kind == Kind::matrix ? 1 : kind == Kind::vectors ? columns : block_columns;
    std::uniform_real_distribution<double> exponents(-4.0, 4.0);
    for (std::int64_t i = 0; i < made.rows * made.columns; ++i) {
      made.values.push_back(static_cast<float>(std::exp2(exponents(generator))));
    }
    return made;
  }

  double element_of_a(std::int64_t i, std::int64_t l) const {
    const std::int64_t at = a_order == Order::row_major ? i * shape.k + l : l * shape.m + i;
    const double x = e4m3_to_float32(a[static_cast<std::size_t>(at)]);
    if (of_a == Kind::none) return x;
    const std::int64_t row = of_a == Kind::matrix ? 0 : i,
                       step = of_a == Kind::blocks ? l / block : 0;
    return x * double(scale_a.values[static_cast<std::size_t>(row * scale_a.columns + step)]);
  }
  double element_of_b(std::int64_t l, std::int64_t j) const {
    const std::int64_t at = b_order == Order::row_major ? l * shape.n + j : j * shape.k + l;
    const double x = e4m3_to_float32(b[static_cast<std::size_t>(at)]);
    if (of_b == Kind::none) return x;
    const std::int64_t step = of_b == Kind::blocks ? l / block : 0;
    const std::int64_t column = of_b == Kind::matrix ? 0 : of_b == Kind::blocks ? j / block : j;
    return x * double(scale_b.values[static_cast<std::size_t>(step * scale_b.columns + column)]);
  }

  ConstMatrixView view_of_a(const void* data) const {
    return dense_view(data, DataType::float8_e4m3, shape.m, shape.k, a_order);
  }
  ConstMatrixView view_of_b(const void* data) const {
    return dense_view(data, DataType::float8_e4m3, shape.k, shape.n, b_order);
  }
  MatrixView view_of_c(void* data) const {
    return dense_view(data, DataType::float32, shape.m, shape.n, c_order);
  }
  MatmulOptions options(const std::string& variant) const {
    return {.variant = variant,
            .precision = Precision::fp8_e4m3,
            .alpha = 0.5,
            .beta = beta,
            .bias = bias,
            .scale_a = scale_a.scales(),
            .scale_b = scale_b.scales()};
  }

  MatmulReport run(Device& device, const std::string& variant = "") {
    return matmul(device, view_of_a(a.data()), view_of_b(b.data()), view_of_c(c.data()),
                  options(variant));
  }

  // What is wrong with C; empty: nothing. `before`: C as it was.
  std::string defects(const std::vector<float>& before = {}) const {
    for (std::int64_t i = 0; i < shape.m; ++i) {
      for (std::int64_t j = 0; j < shape.n; ++j) {
        double sum = 0.0, magnitude = 0.0;
        for (std::int64_t l = 0; l < shape.k; ++l) {
          const double term = 0.5 * element_of_a(i, l) * element_of_b(l, j);
          sum += term;
          magnitude += std::abs(term);
        }
        const std::int64_t at = c_order == Order::row_major ? i * shape.n + j : j * shape.m + i;
        const auto add = [&](double x) {
          sum += x;
          magnitude += std::abs(x);
        };
        if (beta != 0.0) add(beta * double(before[static_cast<std::size_t>(at)]));
        if (!bias.empty()) add(double(bias[static_cast<std::size_t>(j)]));
        const double bound = operations::product_bound(Precision::fp8_e4m3, DataType::float32,
                                                       shape.k + 4, sum, magnitude);
        const double got = double(c[static_cast<std::size_t>(at)]);
        if (!(std::abs(got - sum) <= bound)) {
          return fmt::format("C({}, {}) is {}, expected {} +- {}", i, j, got, sum, bound);
        }
      }
    }
    return {};
  }
};

TEST(Scales, OfEveryKindOnEveryDevice) {
  for (const auto& [name, variant] :
       {std::pair{"cpu", ""}, {"emulated:t4", ""}, {"emulated:h200", "tensor_tiles"}}) {
    const auto device = Device::open(name);
    for (const Kind of_a : kinds) {
      for (const Kind of_b : kinds) {
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

// Every tile that the model ranks, in both kinds of factors that the kernel distinguishes.
TEST(Scales, OnEveryTensorTileTheCheckerIsSilent) {
  auto device = std::make_shared<device::EmulatedDevice>("h200");
  testing::LaunchFindings findings(*device);
  Device& on = *device;
  for (const Kind kind : {Kind::vectors, Kind::blocks}) {
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
  for (const Kind kind : {Kind::vectors, Kind::blocks}) {
    operations::GemmProblem problem =
        operations::dense_problem({4096, 4096, 4096}, Precision::fp8_e4m3, DataType::float8_e4m3,
                                  DataType::bfloat16, Order::row_major, Order::column_major);
    problem.scale_a.count = problem.scale_b.count = 1;
    problem.scale_a.step_pitch = kind == Kind::blocks ? 1 : 0;
    problem.scale_b.shift = kind == Kind::blocks ? operations::ScaleLayout::shift_of_block : 0;
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
  for (const Kind kind : kinds) {
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
