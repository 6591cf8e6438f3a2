#include "operations/gemm/ladder/gemm_operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/errors.hpp"
#include "base/signals.hpp"
#include "base/text.hpp"
#include "operations/gemm/problem/accuracy.hpp"
#include "operations/numerics/product_reference.hpp"
#include "operations/numerics/random.hpp"

namespace tilescope::operations {
namespace {

GemmProblem problem_of(const MatmulShape& shape, Precision precision) {
  // Tensor cores read operands of 8 bits along k, and cuBLAS takes them no other way.
  const DataType type = operand_type(precision);
  const Order b_order = size_of(type) == 1 ? Order::column_major : Order::row_major;
  return dense_problem(shape, precision, type, usual_result_type(precision), Order::row_major,
                       b_order);
}

// A * B of dense operands in float64, on all cores.
std::vector<double> product(const GemmProblem& problem, const std::vector<double>& a,
                            const std::vector<double>& b) {
  const MatmulShape& s = problem.shape;
  const auto view = [](const std::vector<double>& values, std::int64_t rows, std::int64_t columns,
                       Order order) {
    return dense_view(static_cast<const void*>(values.data()), DataType::float64, rows, columns,
                      order);
  };
  std::vector<double> c(static_cast<std::size_t>(s.m * s.n));
  blas_cells(view(a, s.m, s.k, problem.a.order), view(b, s.k, s.n, problem.b.order),
             dense_view(static_cast<void*>(c.data()), DataType::float64, s.m, s.n), blas_cell(s),
             CancelScope::flag());
  return c;
}

// The units that compute in a precision, by the names of a GPU's ceilings.
std::string_view rate_of(Precision precision) {
  switch (precision) {
    case Precision::fp64:
      return "fp64_tensor";
    case Precision::tf32:
      return "tf32_tensor";
    case Precision::fp32_fast:  // in parts of 16 bits
    case Precision::bf16:
    case Precision::fp16:
      return "bf16_tensor";
    case Precision::fp8_e4m3:
    case Precision::fp8_e5m2:
    case Precision::int8:  // as many operations a cycle
      return "fp8_tensor";
    case Precision::automatic:
    case Precision::fp32:
      break;
  }
  return "fp32";
}

}  // namespace

GemmOperation::GemmOperation(const MatmulShape& shape, Precision precision, std::uint64_t seed)
    : problem_(problem_of(shape, precision)),
      a_(random_operand(problem_.a.type, shape.m * shape.k, 2 * seed)),
      b_(random_operand(problem_.b.type, shape.k * shape.n, 2 * seed + 1)),
      rungs_(problem_, a_.view(), b_.view()) {}

std::string GemmOperation::size_text() const {
  return fmt::format("{} in {}", shape_text(problem_.shape),
                     tilescope::name_of(problem_.precision));
}

std::vector<VariantInfo> GemmOperation::variants() const {
  std::vector<VariantInfo> all = rungs_.variants();
  all.push_back(rungs_.peer());
  return all;
}

std::string GemmOperation::variant_name(std::string_view name) const {
  std::vector<std::string_view> names;
  const std::vector<VariantInfo> all = variants();
  for (const VariantInfo& variant : all) {
    if (variant.name == name) return variant.name;
    names.push_back(variant.name);
  }
  const std::string_view near = nearest(name, names);
  throw usage_error("matmul in {} has no variant \"{}\"{}", tilescope::name_of(problem_.precision),
                    printable(name, 60),
                    near.empty() ? fmt::format("; there are {}", fmt::join(names, ", "))
                                 : fmt::format(", did you mean {}?", near));
}

Work GemmOperation::work() const {
  const auto bytes = [](const HostArray& array) { return static_cast<double>(array.bytes()); };
  return {.flops = problem_.shape.flops(),
          .bytes = bytes(a_) + bytes(b_) +
                   static_cast<double>(problem_.shape.m) * static_cast<double>(problem_.shape.n) *
                       static_cast<double>(size_of(problem_.c.type)),
          .rate = rate_of(problem_.precision)};
}

std::optional<std::string> GemmOperation::refusal(const VariantInfo& variant,
                                                  const Device& device) const {
  return rungs_.refusal(variant, device);
}

Plan GemmOperation::plan(const VariantInfo& variant, const DeviceProperties& device) const {
  return rungs_.plan(variant, device);
}

std::unique_ptr<Prepared> GemmOperation::prepare(const VariantInfo& variant, Device& device) const {
  return rungs_.prepare(variant, device);
}

const Expected& GemmOperation::expected(const VariantInfo& variant) const {
  if (ours_.size() == 0) {
    const Precision precision = problem_.precision;
    const auto widened = [precision](const HostArray& operand) {
      std::vector<double> values(operand.count());
      widen_operand(operand.view(), precision, 0, values);
      return values;
    };
    std::vector<double> a = widened(a_), b = widened(b_);
    std::vector<double> values = product(problem_, a, b);
    const auto magnitude = [](double x) { return std::abs(x); };
    std::transform(a.begin(), a.end(), a.begin(), magnitude);
    std::transform(b.begin(), b.end(), b.begin(), magnitude);
    const std::vector<double> magnitudes = product(problem_, a, b);
    std::vector<double> bounds(values.size()), peer_bounds(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double bound =
          product_bound(precision, problem_.c.type, problem_.shape.k, values[i], magnitudes[i]);
      peer_bounds[i] = bound + peer_slack(precision) * magnitudes[i];
      // The operands leave 8-bit sums exact: a bound for any operands would hide an omission.
      bounds[i] =
          size_of(problem_.a.type) == 1 ? result_roundoff(problem_.c.type, values[i]) : bound;
    }
    ours_ = StoredExpected(values, std::move(bounds));
    peers_ = StoredExpected(std::move(values), std::move(peer_bounds));
  }
  return variant.is_peer ? peers_ : ours_;
}

}  // namespace tilescope::operations
