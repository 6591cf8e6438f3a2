#include "operations/gemm/product/quantised_problem.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include "base/errors.hpp"
#include "base/parallel.hpp"
#include "operations/numerics/conversion.hpp"

namespace tilescope::operations {
namespace {

double largest_of(DataType type) {
  return type == DataType::float8_e4m3 ? 448.0 : 57344.0;
}

/// Calls visit(values, row) for some rows (of a column-major matrix, columns) at a time, dense and
/// in float64, on all cores.
template <typename Visit>
void for_rows(const ConstMatrixView& matrix, const Visit& visit) {
  constexpr std::int64_t elements = 1 << 14;
  const bool by_rows = matrix.order == Order::row_major;
  const std::int64_t length = matrix.vector_length();
  const std::int64_t rows = std::max<std::int64_t>(elements / std::max<std::int64_t>(length, 1), 1);
  const std::int64_t pieces = (matrix.vectors() + rows - 1) / rows;
  parallel_for(static_cast<std::size_t>(pieces), [&](std::size_t piece) {
    const std::int64_t first = static_cast<std::int64_t>(piece) * rows;
    const std::int64_t count = std::min(rows, matrix.vectors() - first);
    const ConstMatrixView some =
        by_rows ? part(matrix, first, count, 0, length) : part(matrix, 0, length, first, count);
    std::vector<double> values(static_cast<std::size_t>(count * length));
    convert_matrix(some, dense_view(static_cast<void*>(values.data()), DataType::float64, some.rows,
                                    some.columns, some.order));
    visit(values, first);
  });
}

double largest_finite(const ConstMatrixView& matrix) {
  double largest = 0.0;
  std::mutex mutex;
  for_rows(matrix, [&](const std::vector<double>& values, std::int64_t) {
    double own = 0.0;
    for (const double value : values) {
      if (std::isfinite(value)) own = std::max(own, std::abs(value));
    }
    const std::lock_guard lock(mutex);
    largest = std::max(largest, own);
  });
  return largest;
}

/// The least power of two by which `largest` has to be divided to be at most `limit`.
double scale_for(double largest, double limit) {
  if (largest == 0.0) return 1.0;
  int exponent = 0;
  const double fraction = std::frexp(largest / limit, &exponent);  // in [1/2, 1)
  return std::ldexp(1.0, fraction == 0.5 ? exponent - 1 : exponent);
}

}  // namespace

QuantisedProblem::Operand QuantisedProblem::quantise(ConstMatrixBatch& batch, DataType type) {
  Operand made;
  if (batch.first.type == type || batch.first.empty() || batch.count == 0) return made;
  const std::int64_t matrices = batch.stride == 0 ? 1 : batch.count;
  double largest = 0.0;
  for (std::int64_t i = 0; i < matrices; ++i) {
    largest = std::max(largest, largest_finite(matrix_of(batch, i)));
  }
  made.scale = scale_for(largest, largest_of(type));
  const ConstMatrixView& first = batch.first;
  const std::int64_t count = first.rows * first.columns;
  made.elements = HostArray(type, static_cast<std::size_t>(matrices * count));
  for (std::int64_t i = 0; i < matrices; ++i) {
    for_rows(matrix_of(batch, i), [&](const std::vector<double>& values, std::int64_t row) {
      const auto at = static_cast<std::size_t>(i * count + row * first.vector_length());
      for (std::size_t e = 0; e < values.size(); ++e) {
        made.elements.set(at + e, values[e] / made.scale);
      }
    });
  }
  batch = {.first = dense_view(static_cast<const void*>(made.elements.data()), type, first.rows,
                               first.columns, first.order),
           .count = batch.count,
           .stride = batch.stride == 0 ? 0 : count};
  return made;
}

QuantisedProblem::QuantisedProblem(const HostProblem& problem) : problem_(problem) {
  if (!has_float8_operands(problem.precision)) return;
  const DataType type = operand_type(problem.precision);
  a_ = quantise(problem_.a, type);
  b_ = quantise(problem_.b, type);
  problem_.alpha = problem.alpha * a_.scale * b_.scale;
  const double size = std::abs(problem_.alpha);
  if (size == 0.0 || std::isnormal(static_cast<float>(size))) return;
  throw usage_error(
      "in {} A is divided by {:.4g} and B by {:.4g}: with alpha that makes a factor of {:.4g}, "
      "which "
      "no float32 holds; multiply the matrices by other factors first",
      name_of(problem.precision), a_.scale, b_.scale, problem_.alpha);
}

void require_quantised(const HostProblem& problem) {
  if (!has_float8_operands(problem.precision)) return;
  const DataType type = operand_type(problem.precision);
  for (const auto& [batch, name] : {std::pair{&problem.a, "A"}, std::pair{&problem.b, "B"}}) {
    if (batch->first.type == type) continue;
    throw usage_error(
        "{} is {}: only matmul() of whole matrices in host memory scales operands for {}; give it "
        "{} "
        "elements, and their scales as alpha",
        name, name_of(batch->first.type), name_of(problem.precision), name_of(type));
  }
}

void require_for_several(const HostProblem& problem) {
  if (size_of(operand_type(problem.precision)) > 1) return;
  throw usage_error("precision {}: one device computes such products, not several",
                    name_of(problem.precision));
}

}  // namespace tilescope::operations
