// The public matmul() and matmul_batched() with all of their options, on the CPU and the emulated
// device.
#include <cmath>
#include <cstring>
#include <tilescope/device.hpp>

#include "base/half.hpp"
#include "support/matrices.hpp"
#include "support/public_gemm.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope {
namespace {

using testing::error_of;
using testing::GemmCase;
using ::testing::HasSubstr;
using testing::public_gemm;
using testing::PublicGemm;
using testing::TestMatrix;

TEST(GemmMatmul, RandomProblemsOnTheCpu) {
  const auto cpu = Device::open("cpu");
  for (const GemmCase& of : testing::random_gemms()) {
    SCOPED_TRACE(of.text);
    const PublicGemm result = public_gemm(*cpu, of);
    EXPECT_EQ(testing::defects(of, result.c, false), "");
    EXPECT_EQ(result.report.precision, of.problem.precision);
  }
}

TEST(GemmMatmul, RandomProblemsEmulated) {
  const auto emulated = Device::open("emulated");
  for (const GemmCase& of : testing::random_gemms(60, 4)) {
    SCOPED_TRACE(of.text);
    const PublicGemm result = public_gemm(*emulated, of);
    EXPECT_EQ(testing::defects(of, result.c, true), "");
    EXPECT_EQ(result.report.precision, of.problem.precision);
  }
}

class GemmMatmulOptions : public ::testing::Test {
 protected:
  void SetUp() override {
    a_.fill_integers(1);
    b_.fill_integers(2);
    c_.fill_integers(3);
  }
  MatmulReport multiply(Device& device, const MatmulOptions& options) {
    return matmul(device, a_.view(), b_.view(), c_.view(), options);
  }
  std::string refused(const MatmulOptions& options) {
    return error_of(ErrorKind::usage, [&] { multiply(*emulated_, options); });
  }
  std::shared_ptr<Device> cpu_ = Device::open("cpu"), emulated_ = Device::open("emulated");
  TestMatrix a_{DataType::float32, 3, 4}, b_{DataType::float32, 4, 2}, c_{DataType::float32, 3, 2};
};

TEST_F(GemmMatmulOptions, TheReportSaysWhatRan) {
  const MatmulReport plain = multiply(*emulated_, {});
  EXPECT_EQ(plain.precision, Precision::fp32);
  EXPECT_EQ(plain.note, "");
  const MatmulReport named = multiply(*emulated_, {.variant = "general", .beta = 2.0});
  EXPECT_EQ(named.variant, "general");
  EXPECT_EQ(multiply(*emulated_, {.variant = "tiled_16"}).variant, "tiled_16");
  const MatmulReport fast = multiply(*cpu_, {.precision = Precision::fp32_fast});
  EXPECT_EQ(fast.precision, Precision::fp32_fast);
  EXPECT_EQ(fast.note, "computed as fp32");
  EXPECT_EQ(multiply(*cpu_, {.precision = Precision::bf16}).note, "");
}

TEST_F(GemmMatmulOptions, AutomaticIsTheWidestOfTheOperands) {
  EXPECT_EQ(multiply(*cpu_, {}).precision, Precision::fp32);
  TestMatrix wide(DataType::float64, 3, 2);
  EXPECT_EQ(matmul(*cpu_, a_.view(), b_.view(), wide.view()).precision, Precision::fp64);
  EXPECT_EQ(
      matmul(*cpu_, a_.view(), b_.view(), wide.view(), {.precision = Precision::fp32}).precision,
      Precision::fp32);
}

// Only bits that TF32 drops distinguish this NaN from infinity.
TEST_F(GemmMatmulOptions, ANanOfLowBitsStaysNan) {
  const std::uint32_t nan = 0x7F800001U;
  std::memcpy(a_.view().mutable_data(), &nan, sizeof nan);
  for (Device* device : {cpu_.get(), emulated_.get()}) {
    multiply(*device, {.precision = Precision::tf32});
    EXPECT_TRUE(std::isnan(c_.get(0, 0)));
    EXPECT_FALSE(std::isnan(c_.get(1, 0)));
  }
}

TEST_F(GemmMatmulOptions, RungsOfTheLadderTakeNoOptions) {
  const std::vector<float> bias{1, 2};
  for (const MatmulOptions& options :
       {MatmulOptions{.variant = "tiled_16", .precision = Precision::bf16},
        MatmulOptions{.variant = "tiled_16", .alpha = 2.0},
        MatmulOptions{.variant = "tiled_16", .beta = 1.0},
        MatmulOptions{.variant = "tiled_16", .bias = bias},
        MatmulOptions{.variant = "tiled_16", .activation = Activation::relu}}) {
    EXPECT_THAT(refused(options), HasSubstr("use general"));
  }
}

TEST_F(GemmMatmulOptions, VariantsOfTheTableAreKnownEverywhere) {
  EXPECT_THAT(refused({.variant = "generel"}), HasSubstr("did you mean general?"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { multiply(*cpu_, {.variant = "general"}); }),
              HasSubstr("does not run on the cpu device"));
}

TEST_F(GemmMatmulOptions, ABiasNeedsAValueForEachColumn) {
  const std::vector<float> bias{1, 2, 3};
  EXPECT_EQ(refused({.bias = bias}),
            "the bias has 3 values: it needs one for each of the 2 columns of C");
}

TEST_F(GemmMatmulOptions, NothingToSumLeavesTheRest) {
  TestMatrix a(DataType::float32, 3, 0), b(DataType::float32, 0, 2);
  const std::vector<float> bias{0.5, -100};
  c_.fill([](auto i, auto j) { return static_cast<double>(i + j); });
  for (Device* device : {cpu_.get(), emulated_.get()}) {
    TestMatrix c(DataType::float32, 3, 2);
    c.fill([&](auto i, auto j) { return c_.get(i, j); });
    matmul(*device, a.view(), b.view(), c.view(),
           {.beta = 2.0, .bias = bias, .activation = Activation::relu});
    for (std::int64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(c.get(i, 0), 2.0 * static_cast<double>(i) + 0.5);
      EXPECT_EQ(c.get(i, 1), 0.0);
    }
  }
}

TEST_F(GemmMatmulOptions, BatchesThatDoNotFit) {
  const auto message = [&](const ConstMatrixBatch& a, const ConstMatrixBatch& b,
                           const MatrixBatch& c) {
    return error_of(ErrorKind::usage, [&] { matmul_batched(*cpu_, a, b, c); });
  };
  const ConstMatrixBatch a{a_.view(), 2, 0}, b{b_.view(), 2, 0};
  EXPECT_THAT(message(a, b, {c_.view(), 3, 6}), HasSubstr("2, 2 and 3 matrices"));
  EXPECT_EQ(message(a, b, {c_.view(), 2, 5}),
            "the matrices of C overlap: each takes 6 elements, and they are 5 apart");
  EXPECT_THAT(message({a_.view(), 2, -1}, b, {c_.view(), 2, 6}), HasSubstr("negative"));
  EXPECT_NO_THROW(matmul_batched(*cpu_, {a_.view(), 0, 0}, {b_.view(), 0, 0}, {c_.view(), 0, 0}));
}

TEST(GemmConvert, Bfloat16IsRoundedOnceInEveryOrder) {
  for (const DataType from_type :
       {DataType::float16, DataType::bfloat16, DataType::float32, DataType::float64}) {
    for (const Order order : {Order::row_major, Order::column_major}) {
      const operations::GemmProblem problem = operations::dense_problem(
          {1, 70, 1}, Precision::fp64, from_type, DataType::bfloat16, Order::row_major, order);
      testing::GemmGenerator generator(5);
      GemmCase of = generator.filled(problem);
      if (from_type == DataType::float64) of.b.set(0, 0, 1, 1 + 0x1p-8 + 0x1p-40);
      of.a.set(0, 0, 0, 1.0);
      const PublicGemm result = public_gemm(*Device::open("cpu"), of);
      for (std::int64_t j = 0; j < 70; ++j) {
        EXPECT_EQ(result.c.get(0, 0, j),
                  bfloat16_to_float32(float64_to_bfloat16(of.b.get(0, 0, j))));
      }
    }
  }
}

}  // namespace
}  // namespace tilescope
