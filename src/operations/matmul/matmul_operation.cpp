#include "operations/matmul/matmul_operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.hpp"
#include "base/signals.hpp"
#include "device/cuda/cublas.hpp"
#include "operations/matmul/kernel_product.hpp"
#include "operations/matmul/matmul_variants.hpp"
#include "operations/numerics/product_reference.hpp"
#include "operations/numerics/random.hpp"

namespace tilescope::operations {
namespace {

// The reference takes about a second per 4e9 operations and core; beyond this limit it would take
// minutes.
constexpr double most_reference_flops = 1e12;

ConstMatrixView host_view(const std::vector<float>& values, std::int64_t rows,
                          std::int64_t columns) {
  return dense_view(static_cast<const void*>(values.data()), DataType::float32, rows, columns);
}

std::vector<float> transposed(const std::vector<float>& matrix, std::int64_t rows,
                              std::int64_t columns) {
  std::vector<float> result(matrix.size());
  const auto m = static_cast<std::size_t>(rows), n = static_cast<std::size_t>(columns);
  parallel_for(n, [&](std::size_t column) {
    for (std::size_t row = 0; row < m; ++row) result[column * m + row] = matrix[row * n + column];
  });
  return result;
}

ConstArrayView list_view(const std::vector<float>& values) {
  return {DataType::float32, values.size(), values.data()};
}

std::size_t operand_bytes(const MatmulShape& s) {
  return sizeof(float) * static_cast<std::size_t>(s.m * s.k + s.k * s.n + s.m * s.n);
}

// A product on the host: cpu_reference and cpu_blas.
class HostProduct final : public Prepared {
 public:
  HostProduct(const MatmulOperation& problem, MatmulForm form)
      : problem_(problem),
        form_(form),
        c_(DataType::float32, static_cast<std::size_t>(problem.shape().m * problem.shape().n)) {}

  void run(int) override {
    const MatmulShape& s = problem_.shape();
    if (form_ == MatmulForm::cpu_reference) {
      reference_matmul(s, problem_.a().data(), problem_.b().data(), c_.as<float>().data(),
                       CancelScope::flag());
    } else {
      blas_cells(host_view(problem_.a(), s.m, s.k), host_view(problem_.b(), s.k, s.n),
                 dense_view(c_.data(), DataType::float32, s.m, s.n), blas_cell(s),
                 CancelScope::flag());
    }
  }
  void poison(int) override {
    std::fill(c_.as<float>().begin(), c_.as<float>().end(),
              std::numeric_limits<float>::quiet_NaN());
  }
  HostArray output(int) override {
    HostArray copy(c_.type(), c_.count());
    std::copy_n(c_.as<float>().begin(), c_.count(), copy.as<float>().begin());
    return copy;
  }

 private:
  const MatmulOperation& problem_;
  MatmulForm form_;
  HostArray c_;
};

// A product on a device. The same operands lie at several addresses, so that successive runs find
// none of their data in L2.
class DeviceProduct : public Prepared {
 public:
  DeviceProduct(const MatmulOperation& problem, Device& device, const MatmulShape& padded,
                Order b_order)
      : problem_(problem), padded_(padded) {
    const MatmulShape& s = problem.shape();
    const std::vector<float> turned =
        b_order == Order::column_major ? transposed(problem.b(), s.k, s.n) : std::vector<float>();
    ConstMatrixView b = host_view(problem.b(), s.k, s.n);
    if (b_order == Order::column_major) {
      b = dense_view(static_cast<const void*>(turned.data()), DataType::float32, s.k, s.n, b_order);
    }
    for (std::size_t set = 0; set < input_sets(device, operand_bytes(padded)); ++set) {
      operands_.emplace_back(device, s, padded, b_order);
      operands_.back().upload(host_view(problem.a(), s.m, s.k), b);
    }
  }

  void poison(int input_set) override {
    constexpr std::uint8_t nan_byte = 0xFF;
    operands(input_set).fill_c(nan_byte);
  }
  HostArray output(int input_set) override {
    const MatmulShape& s = problem_.shape();
    HostArray c(DataType::float32, static_cast<std::size_t>(s.m * s.n));
    operands(input_set).download(dense_view(c.data(), c.type(), s.m, s.n));
    return c;
  }
  std::string note() const override {
    if (padded_ == problem_.shape()) return {};
    return fmt::format("padded to {}", shape_text(padded_));
  }

 protected:
  DeviceOperands& operands(int input_set) {
    return operands_[static_cast<std::size_t>(input_set) % operands_.size()];
  }

 private:
  const MatmulOperation& problem_;
  MatmulShape padded_;
  std::vector<DeviceOperands> operands_;
};

class KernelRung final : public DeviceProduct {
 public:
  KernelRung(const MatmulOperation& problem, Device& device, const MatmulVariant& variant)
      : DeviceProduct(problem, device, variant.padded(problem.shape()), variant.row->b_order),
        product_(device, variant, problem.shape()) {}
  void run(int input_set) override { product_.run(operands(input_set)); }

 private:
  KernelProduct product_;
};

class CublasRung final : public DeviceProduct {
 public:
  CublasRung(const MatmulOperation& problem, Device& device)
      : DeviceProduct(problem, device, problem.shape(), Order::row_major),
        shape_(problem.shape()) {}
  void run(int input_set) override {
    const DeviceOperands& o = operands(input_set);
    cublas_.sgemm(shape_, o.a(), o.b(), o.c());
  }

 private:
  MatmulShape shape_;
  device::Cublas cublas_;
};

}  // namespace

MatmulOperation::MatmulOperation(const MatmulShape& shape, std::uint64_t seed)
    : shape_(shape),
      a_(random_values(shape.m * shape.k, 2 * seed)),
      b_(random_values(shape.k * shape.n, 2 * seed + 1)),
      gemm_(dense_problem(shape, Precision::fp32, DataType::float32, DataType::float32),
            list_view(a_), list_view(b_)) {}

std::string MatmulOperation::size_text() const {
  return shape_text(shape_);
}

std::vector<VariantInfo> MatmulOperation::variants() const {
  std::vector<VariantInfo> infos;
  for (const MatmulVariant& v : matmul_variants()) {
    if (v.row->form == MatmulForm::cublas) {  // last, as the baseline for the others
      for (VariantInfo& info : gemm_.variants()) infos.push_back(std::move(info));
    }
    infos.push_back({.name = v.name,
                     .idea = v.row->idea,
                     .source = v.row->source,
                     .is_peer = v.row->form == MatmulForm::cublas,
                     .needs_gpu = v.row->form == MatmulForm::cublas,
                     .on_host = v.row->form == MatmulForm::cpu_reference ||
                                v.row->form == MatmulForm::cpu_blas});
  }
  return infos;
}

std::string MatmulOperation::variant_name(std::string_view name) const {
  if (gemm_.has(name)) return std::string(name);
  return matmul_variant(name).name;
}

Work MatmulOperation::work() const {
  const auto bytes = [](std::int64_t x, std::int64_t y) {
    return static_cast<double>(x) * static_cast<double>(y) * sizeof(float);
  };
  return {
      .flops = shape_.flops(),
      .bytes = bytes(shape_.m, shape_.k) + bytes(shape_.k, shape_.n) + bytes(shape_.m, shape_.n)};
}

std::optional<std::string> MatmulOperation::refusal(const VariantInfo& info,
                                                    const Device& device) const {
  if (gemm_.has(info.name)) return gemm_.refusal(info, device);
  const MatmulVariant& variant = matmul_variant(info.name);
  if (shape_.m == 0 || shape_.n == 0) return "C has no elements";
  switch (variant.row->form) {
    case MatmulForm::cpu_reference:
      if (shape_.flops() > most_reference_flops) return "over 10^12 operations on the CPU";
      return std::nullopt;
    case MatmulForm::cpu_blas:
      return std::nullopt;
    case MatmulForm::cublas:
      if (device.kind() != DeviceKind::cuda) return "needs a GPU";
      if (std::string why = device::Cublas::missing(); !why.empty()) return why;
      if (shape_.k == 0) return "k is 0";
      return std::nullopt;
    case MatmulForm::kernel:
      if (device.kind() == DeviceKind::cpu) return "a kernel: needs a GPU or --device emulated";
      return variant.refusal(shape_, device.properties());
  }
  return std::nullopt;
}

Plan MatmulOperation::plan(const VariantInfo& info, const DeviceProperties& device) const {
  if (gemm_.has(info.name)) return gemm_.plan(info, device);
  const MatmulVariant variant = matmul_variant(info.name);
  if (variant.row->form != MatmulForm::kernel) throw no_kernel_of_ours(name(), info);
  MatmulPlan plan = variant.row->plan(variant.padded(shape_), variant.width, device);
  if (variant.row->any_element) plan.defines.emplace_back("ELEMENT", "float");
  if (variant.row->can_accumulate) plan.defines.emplace_back("ACCUMULATE", "0");
  return {.steps = {{.kernel = "matmul", .launch = plan.launch}}, .defines = plan.defines};
}

std::unique_ptr<Prepared> MatmulOperation::prepare(const VariantInfo& info, Device& device) const {
  if (gemm_.has(info.name)) return gemm_.prepare(info, device);
  const MatmulVariant& variant = matmul_variant(info.name);
  switch (variant.row->form) {
    case MatmulForm::cpu_reference:
    case MatmulForm::cpu_blas:
      return std::make_unique<HostProduct>(*this, variant.row->form);
    case MatmulForm::cublas:
      return std::make_unique<CublasRung>(*this, device);
    case MatmulForm::kernel:
      break;
  }
  return std::make_unique<KernelRung>(*this, device, variant);
}

const Expected& MatmulOperation::expected(const VariantInfo& info) const {
  if (float_sums_.size() == 0) {
    const ExactProduct exact = exact_product(shape_, a_.data(), b_.data(), CancelScope::flag());
    constexpr double u = 0x1p-24;  // unit roundoff of float32
    std::vector<double> float_bounds(exact.values.size()), double_bounds(exact.values.size());
    for (std::size_t i = 0; i < exact.values.size(); ++i) {
      float_bounds[i] = (static_cast<double>(shape_.k) + 2.0) * u * exact.magnitudes[i];
      // The sum is exact except for double's own rounding; one rounding to float remains.
      double_bounds[i] = u * std::abs(exact.values[i]) +
                         (static_cast<double>(shape_.k) + 2.0) * 0x1p-52 * exact.magnitudes[i] +
                         0x1p-149;
    }
    float_sums_ = StoredExpected(exact.values, std::move(float_bounds));
    double_sums_ = StoredExpected(exact.values, std::move(double_bounds));
  }
  if (gemm_.has(info.name)) return float_sums_;
  return matmul_variant(info.name).row->double_accumulator ? double_sums_ : float_sums_;
}

}  // namespace tilescope::operations
