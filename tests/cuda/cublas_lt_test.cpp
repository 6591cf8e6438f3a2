// cublasLt as a baseline: orders, leading dimensions, batches and factors reach it as intended,
// whichever of its algorithms runs.
#include "device/cuda/cublas_lt.hpp"

#include <fmt/format.h>

#include <vector>

#include "base/half.hpp"
#include "cuda/real_gpu.hpp"

namespace tilescope {
namespace {

using device::CublasLt;
using device::LtOperand;
using device::LtProduct;

// Small integers: every type holds them and their products and sums exactly.
double small_integer(std::size_t i) {
  return static_cast<double>(i * 2654435761U % 7) - 3.0;
}

class Matrices {
 public:
  Matrices(const LtOperand& operand, std::int64_t rows, std::int64_t columns, std::int64_t batch)
      : operand_(operand) {
    const std::int64_t vectors = operand.order == Order::row_major ? rows : columns;
    elements_ =
        static_cast<std::size_t>((batch - 1) * operand.batch_stride + vectors * operand.leading);
    for (std::size_t i = 0; i < elements_; ++i) values_.push_back(small_integer(i + elements_));
  }

  double& at(std::int64_t b, std::int64_t i, std::int64_t j) {
    const std::int64_t inside =
        operand_.order == Order::row_major ? i * operand_.leading + j : i + j * operand_.leading;
    return values_[static_cast<std::size_t>(b * operand_.batch_stride + inside)];
  }

  Buffer upload(Device& gpu) const {
    std::vector<std::byte> bytes(elements_ * size_of(operand_.type));
    for (std::size_t i = 0; i < elements_; ++i) put(bytes.data(), i);
    Buffer buffer = gpu.allocate(bytes.size(), "operand");
    gpu.copy_to_device(buffer.address(), bytes.data(), bytes.size());
    return buffer;
  }
  std::vector<double> download(Device& gpu, const Buffer& buffer) const {
    std::vector<std::byte> bytes(buffer.bytes());
    gpu.copy_to_host(bytes.data(), buffer.address(), bytes.size());
    std::vector<double> values;
    for (std::size_t i = 0; i < elements_; ++i) values.push_back(get(bytes.data(), i));
    return values;
  }
  const std::vector<double>& values() const { return values_; }

 private:
  void put(std::byte* bytes, std::size_t i) const {
    const double value = values_[i];
    switch (operand_.type) {
      case DataType::float16:
        reinterpret_cast<std::uint16_t*>(bytes)[i] = float64_to_float16(value);
        break;
      case DataType::bfloat16:
        reinterpret_cast<std::uint16_t*>(bytes)[i] = float64_to_bfloat16(value);
        break;
      case DataType::float64:
        reinterpret_cast<double*>(bytes)[i] = value;
        break;
      default:
        reinterpret_cast<float*>(bytes)[i] = static_cast<float>(value);
        break;
    }
  }
  double get(const std::byte* bytes, std::size_t i) const {
    switch (operand_.type) {
      case DataType::float16:
        return float16_to_float32(reinterpret_cast<const std::uint16_t*>(bytes)[i]);
      case DataType::bfloat16:
        return bfloat16_to_float32(reinterpret_cast<const std::uint16_t*>(bytes)[i]);
      case DataType::float64:
        return reinterpret_cast<const double*>(bytes)[i];
      default:
        return reinterpret_cast<const float*>(bytes)[i];
    }
  }

  LtOperand operand_;
  std::size_t elements_ = 0;
  std::vector<double> values_;
};

class CublasLtOnGpu : public testing::RealGpu {
 protected:
  void SetUp() override {
    testing::RealGpu::SetUp();
    if (IsSkipped()) return;
    if (const std::string why = CublasLt::missing(); !why.empty()) GTEST_SKIP() << why;
  }

  void expect_exact(const LtProduct& product) {
    const auto& [m, n, k] = product.shape;
    Matrices a(product.a, m, k, product.batch), b(product.b, k, n, product.batch),
        before(product.c, m, n, product.batch), want = before;
    for (std::int64_t matrix = 0; matrix < product.batch; ++matrix) {
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          double sum = 0.0;
          for (std::int64_t p = 0; p < k; ++p) sum += a.at(matrix, i, p) * b.at(matrix, p, j);
          want.at(matrix, i, j) = product.alpha * sum + product.beta * before.at(matrix, i, j);
        }
      }
    }
    const Buffer on_a = a.upload(*gpu_), on_b = b.upload(*gpu_);
    const CublasLt library(*gpu_, product);
    ASSERT_GE(library.algorithms(), 1);
    for (int algorithm = 0; algorithm < library.algorithms(); ++algorithm) {
      SCOPED_TRACE(fmt::format("{} x {} x {}, algorithm {}", m, n, k, algorithm));
      const Buffer c = before.upload(*gpu_);
      library.run(algorithm, on_a.address(), on_b.address(), c.address());
      gpu_->synchronize();
      EXPECT_EQ(before.download(*gpu_, c), want.values());
    }
  }
};

LtOperand dense(DataType type, Order order, std::int64_t rows, std::int64_t columns,
                std::int64_t padding = 0) {
  const std::int64_t vector = order == Order::row_major ? columns : rows;
  const std::int64_t vectors = order == Order::row_major ? rows : columns;
  return {.type = type,
          .order = order,
          .leading = vector + padding,
          .batch_stride = vectors * (vector + padding) + padding};
}

TEST_F(CublasLtOnGpu, EveryPrecisionOrderAndAlgorithm) {
  const std::pair<Precision, DataType> cases[] = {
      {Precision::fp32, DataType::float32}, {Precision::fp32_fast, DataType::float32},
      {Precision::tf32, DataType::float32}, {Precision::bf16, DataType::bfloat16},
      {Precision::fp16, DataType::float16}, {Precision::fp64, DataType::float64}};
  // Sums up to 9 k = 108 are exact in bfloat16, which holds integers up to 256.
  const std::int64_t m = 40, n = 24, k = 12;
  for (const auto& [precision, type] : cases) {
    SCOPED_TRACE(name_of(precision));
    for (const Order a : {Order::row_major, Order::column_major}) {
      for (const Order b : {Order::row_major, Order::column_major}) {
        expect_exact({.shape = {m, n, k},
                      .precision = precision,
                      .a = dense(type, a, m, k),
                      .b = dense(type, b, k, n),
                      .c = dense(type, Order::row_major, m, n)});
      }
    }
  }
}

TEST_F(CublasLtOnGpu, LeadingDimensionsBatchesAndFactors) {
  const std::int64_t m = 17, n = 9, k = 5;
  expect_exact({.shape = {m, n, k},
                .batch = 3,
                .precision = Precision::fp32,
                .a = dense(DataType::float32, Order::row_major, m, k, 3),
                .b = dense(DataType::float32, Order::column_major, k, n, 2),
                .c = dense(DataType::float32, Order::row_major, m, n, 7),
                .alpha = 2.0,
                .beta = -1.0});
}

TEST_F(CublasLtOnGpu, MixedTypes) {
  expect_exact({.shape = {16, 16, 8},
                .precision = Precision::bf16,
                .a = dense(DataType::bfloat16, Order::row_major, 16, 8),
                .b = dense(DataType::bfloat16, Order::row_major, 8, 16),
                .c = dense(DataType::float32, Order::row_major, 16, 16)});
}

}  // namespace
}  // namespace tilescope
