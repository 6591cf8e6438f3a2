// Public products in 8 bits: operands that are scaled and rounded, operands of 8 bits, and what is
// refused.
#include <gmock/gmock.h>

#include <cmath>
#include <tilescope/gemm.hpp>
#include <tilescope/matmul.hpp>
#include <tilescope/sharded.hpp>
#include <vector>

#include "base/element_types.hpp"
#include "support/gemm_in_memory.hpp"
#include "support/public_gemm.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

TEST(MatmulOf8Bits, RandomProblemsOnTheCpuAndTheEmulatedGpu) {
  for (const char* name : {"cpu", "emulated"}) {
    const auto device = Device::open(name);
    for (const testing::GemmCase& of : testing::random_gemms_of_8_bits(25, 5)) {
      SCOPED_TRACE(std::string(name) + ": " + of.text);
      const testing::PublicGemm result = testing::public_gemm(*device, of);
      EXPECT_EQ(testing::defects(of, result.c, false), "") << result.report.variant;
      EXPECT_EQ(result.report.precision, of.problem.precision);
    }
  }
}

struct Float32Product {
  std::int64_t m = 5, n = 7, k = 130;
  std::vector<float> a = std::vector<float>(static_cast<std::size_t>(m * k));
  std::vector<float> b = std::vector<float>(static_cast<std::size_t>(k * n));
  std::vector<float> c = std::vector<float>(static_cast<std::size_t>(m * n));

  Float32Product() {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = 1000.0F * std::sin(static_cast<float>(i));
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = 1e-3F * std::cos(static_cast<float>(i));
  }
  MatmulReport run(Device& device, const MatmulOptions& options) {
    return matmul(device, a, b, c, {m, n, k}, options);
  }
};

// The scale is the least power of two that brings the largest element into the range, and the
// product is that of the rounded elements.
TEST(MatmulOf8Bits, WiderOperandsAreScaledByPowersOfTwo) {
  for (const char* name : {"cpu", "emulated"}) {
    const auto device = Device::open(name);
    Float32Product product;
    const MatmulReport report =
        product.run(*device, {.precision = Precision::fp8_e4m3, .alpha = 0.5});
    EXPECT_EQ(report.scale_a, 4.0) << "1000 / 4 is at most 448";
    EXPECT_EQ(report.scale_b, 0x1p-18) << "1e-3 * 2^18 is 262";
    for (std::int64_t i = 0; i < product.m; ++i) {
      for (std::int64_t j = 0; j < product.n; ++j) {
        double sum = 0.0, magnitude = 0.0;
        for (std::int64_t l = 0; l < product.k; ++l) {
          const auto rounded = [](float x, double scale) {
            return e4m3_to_float32(float64_to_e4m3(static_cast<double>(x) / scale)) * scale;
          };
          const double term =
              rounded(product.a[static_cast<std::size_t>(i * product.k + l)], report.scale_a) *
              rounded(product.b[static_cast<std::size_t>(l * product.n + j)], report.scale_b);
          sum += term;
          magnitude += std::abs(term);
        }
        EXPECT_NEAR(product.c[static_cast<std::size_t>(i * product.n + j)], 0.5 * sum,
                    0.5 * 132 * 0x1p-24 * magnitude);
      }
    }
  }
}

TEST(MatmulOf8Bits, ZerosAndWhatIsNotFinite) {
  const auto cpu = Device::open("cpu");
  Float32Product product;
  std::fill(product.a.begin(), product.a.end(), 0.0F);
  MatmulReport report = product.run(*cpu, {.precision = Precision::fp8_e5m2});
  EXPECT_EQ(report.scale_a, 1.0);
  EXPECT_THAT(product.c, ::testing::Each(0.0F));
  product = {};
  product.a[0] = std::numeric_limits<float>::infinity();
  report = product.run(*cpu, {.precision = Precision::fp8_e4m3});
  EXPECT_EQ(report.scale_a, 4.0) << "the largest finite element decides";
  EXPECT_TRUE(std::isnan(product.c[0])) << "e4m3 has no infinity";
  EXPECT_TRUE(std::isfinite(product.c[static_cast<std::size_t>(product.n)]));
  report = product.run(*cpu, {.precision = Precision::fp8_e5m2});
  EXPECT_TRUE(std::isinf(product.c[0]));
}

TEST(MatmulOf8Bits, ScalesThatNoFactorHoldsAreRefused) {
  const auto cpu = Device::open("cpu");
  Float32Product product;
  for (float& x : product.a) x *= 1e-30F;
  for (float& x : product.b) x *= 1e-20F;
  EXPECT_THAT(
      error_of(ErrorKind::usage, [&] { product.run(*cpu, {.precision = Precision::fp8_e4m3}); }),
      HasSubstr("multiply the matrices by other factors first"));
}

TEST(MatmulOf8Bits, OperandsOf8BitsAreTakenAsTheyAreAndNameThePrecision) {
  const auto cpu = Device::open("cpu");
  const std::vector<std::uint8_t> a{float64_to_e4m3(448.0), float64_to_e4m3(-1.5)};
  const std::vector<std::uint8_t> b{float64_to_e4m3(2.0), float64_to_e4m3(0.5)};
  float c = 0.0F;
  const auto view = [](const auto& list, std::int64_t rows, std::int64_t columns) {
    return dense_view(static_cast<const void*>(list.data()), DataType::float8_e4m3, rows, columns);
  };
  const MatmulReport report = matmul(*cpu, view(a, 1, 2), view(b, 2, 1),
                                     dense_view(static_cast<void*>(&c), DataType::float32, 1, 1));
  EXPECT_EQ(report.precision, Precision::fp8_e4m3);
  EXPECT_EQ(report.scale_a, 1.0);
  EXPECT_EQ(c, 448.0F * 2.0F - 1.5F * 0.5F);
  // Any other precision takes them too: they are exact in it.
  matmul(*cpu, view(a, 1, 2), view(b, 2, 1),
         dense_view(static_cast<void*>(&c), DataType::float32, 1, 1),
         {.precision = Precision::bf16});
  EXPECT_EQ(c, 448.0F * 2.0F - 1.5F * 0.5F);
}

TEST(MatmulOf8Bits, IntegersWrapAround) {
  for (const char* name : {"cpu", "emulated"}) {
    const auto device = Device::open(name);
    constexpr std::int64_t k = 131073;  // one more would do too: 128 * 128 * k is beyond 2^31
    const std::vector<std::int8_t> a(k, -128), b(k, -128);
    std::vector<std::int32_t> c(1);
    const MatmulReport report = matmul(*device, a, b, c, {1, 1, k});
    EXPECT_EQ(report.precision, Precision::int8);
    EXPECT_EQ(c[0], static_cast<std::int32_t>(static_cast<std::uint32_t>(128 * 128 * k)));
  }
}

TEST(MatmulOf8Bits, WhatInt8CannotComputeIsRefused) {
  const auto cpu = Device::open("cpu");
  const std::vector<std::int8_t> a(4, 1), b(4, 1);
  const std::vector<float> wide(4, 1.0F), bias(2, 1.0F);
  std::vector<std::int32_t> c(4);
  std::vector<float> c_float(4);
  const MatmulShape shape{2, 2, 2};
  const auto refusal = [&](const auto& call) { return error_of(ErrorKind::usage, call); };
  EXPECT_THAT(refusal([&] { matmul(*cpu, a, b, c, shape, {.alpha = 2.0}); }), HasSubstr("alpha"));
  EXPECT_THAT(refusal([&] { matmul(*cpu, a, b, c, shape, {.beta = 1.0}); }), HasSubstr("beta"));
  EXPECT_THAT(refusal([&] { matmul(*cpu, a, b, c, shape, {.bias = bias}); }), HasSubstr("bias"));
  EXPECT_THAT(refusal([&] { matmul(*cpu, a, b, c, shape, {.activation = Activation::relu}); }),
              HasSubstr("activation"));
  EXPECT_THAT(refusal([&] { matmul(*cpu, a, b, c_float, shape); }), HasSubstr("C is float32"));
  EXPECT_THAT(refusal([&] { matmul(*cpu, a, wide, c, shape); }),
              HasSubstr("A is int8: int8 goes with int8 alone"));
  EXPECT_THAT(refusal([&] { matmul(*cpu, wide, wide, c, shape, {.precision = Precision::int8}); }),
              HasSubstr("A is float32: in int8 matmul takes int8"));
  EXPECT_THAT(refusal([&] { matmul(*cpu, a, b, c, shape, {.precision = Precision::fp32}); }),
              HasSubstr("A is int8"));
}

TEST(MatmulOf8Bits, OnlyHostMemoryIsScaledAndOnlyOneDeviceMultiplies) {
  const auto cpu = Device::open("cpu");
  Float32Product product;
  const MatmulOptions options{.precision = Precision::fp8_e4m3};
  const auto views = [&](auto&& call) {
    return call(dense_view(product.a, product.m, product.k),
                dense_view(product.b, product.k, product.n),
                dense_view(product.c, product.m, product.n));
  };
  EXPECT_THAT(
      error_of(
          ErrorKind::usage,
          [&] { views([&](auto a, auto b, auto c) { PreparedGemm(*cpu, a, b, c, options); }); }),
      HasSubstr("give it float8_e4m3fn elements, and their scales as alpha"));
  const std::shared_ptr<Device> devices[] = {Device::open("emulated"), Device::open("emulated")};
  EXPECT_THAT(
      error_of(ErrorKind::usage,
               [&] {
                 views([&](auto a, auto b, auto c) { matmul_sharded(devices, a, b, c, options); });
               }),
      HasSubstr("one device"));
}

TEST(MatmulOf8Bits, PreparedProductsTakeOperandsOf8Bits) {
  const auto device = Device::open("emulated");
  for (const testing::GemmCase& of : testing::random_gemms_of_8_bits(12, 9)) {
    SCOPED_TRACE(of.text);
    testing::GemmInMemory memory(*device, of);
    PreparedGemm(*device, memory.a, memory.b, memory.c, memory.options).launch();
    EXPECT_EQ(testing::defects(of, memory.result(), false), "");
  }
}

}  // namespace
}  // namespace tilescope
