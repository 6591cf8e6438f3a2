#include "operations/gemm/product/cpu_product.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/openblas.hpp"
#include "base/parallel.hpp"
#include "operations/numerics/conversion.hpp"
#include "operations/numerics/host_array.hpp"
#include "operations/numerics/product_reference.hpp"

namespace tilescope::operations {
namespace {

// body(i) for every i below `count`, on all cores, some thousands at a time.
template <typename Body>
void for_pieces(std::size_t count, const Body& body) {
  constexpr std::size_t piece = 1 << 14;
  parallel_for((count + piece - 1) / piece, [&](std::size_t index) {
    const std::size_t end = std::min(count, (index + 1) * piece);
    for (std::size_t i = index * piece; i < end; ++i) body(i);
  });
}

void fill_zero(const MatrixView& c) {
  const std::size_t element = size_of(c.type);
  auto* bytes = static_cast<std::byte*>(c.mutable_data());
  for (std::int64_t v = 0; v < c.vectors(); ++v) {
    std::memset(bytes + static_cast<std::size_t>(v * c.leading) * element, 0,
                static_cast<std::size_t>(c.vector_length()) * element);
  }
}

/// A matrix as a precision multiplies it: the caller's memory if nothing is rounded away, else a
/// copy in a type from which BLAS's operands are made without another rounding.
class RoundedOperand {
 public:
  RoundedOperand(const ConstMatrixView& matrix, Precision precision) : view_(matrix) {
    const DataType type = stored_type(matrix.type, precision);
    const bool cut = precision == Precision::tf32 && type == DataType::float32;
    if (matrix.empty() || (type == matrix.type && !cut)) return;
    copy_ = HostArray(type, static_cast<std::size_t>(matrix.rows * matrix.columns));
    const MatrixView to = dense_view(copy_.data(), type, matrix.rows, matrix.columns, matrix.order);
    convert_matrix(matrix, to);
    if (cut) cut_to_tf32(copy_.as<float>());
    view_ = to;
  }
  const ConstMatrixView& view() const { return view_; }

  /// Multiplies each element by its factor, in float32. `k_is_rows`: whether rows are steps of k.
  void scale(const float* scales, const ScaleLayout& layout, bool k_is_rows) {
    if (!layout.exists() || view_.empty()) return;
    const ConstMatrixView from = view_;
    HostArray scaled(DataType::float32, static_cast<std::size_t>(from.rows * from.columns));
    const MatrixView to =
        dense_view(scaled.data(), DataType::float32, from.rows, from.columns, from.order);
    convert_matrix(from, to);
    const std::span<float> values = scaled.as<float>();
    const std::int64_t length = to.vector_length();
    const bool k_is_vector = k_is_rows == (to.order == Order::row_major);
    for_pieces(values.size(), [&](std::size_t i) {
      const std::int64_t vector = static_cast<std::int64_t>(i) / length,
                         element = static_cast<std::int64_t>(i) % length;
      values[i] *=
          scales[k_is_vector ? layout.place(element, vector) : layout.place(vector, element)];
    });
    copy_ = std::move(scaled);
    view_ = to;
  }

 private:
  static DataType stored_type(DataType type, Precision precision) {
    switch (precision) {
      case Precision::bf16:
      case Precision::fp16:
      case Precision::fp8_e4m3:
      case Precision::fp8_e5m2:
        return operand_type(precision);
      case Precision::fp64:
        return type;
      default:
        return type == DataType::float64 ? DataType::float32 : type;
    }
  }

  // Clears the last 13 bits, as tensor cores read a float32; a NaN stays a NaN.
  static void cut_to_tf32(std::span<float> values) {
    for_pieces(values.size(), [&](std::size_t i) {
      if (std::isnan(values[i])) return;
      constexpr std::uint32_t kept = 0xFFFFE000U;
      values[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(values[i]) & kept);
    });
  }

  HostArray copy_;
  ConstMatrixView view_;
};

double activated(double x, Activation activation) {
  switch (activation) {
    case Activation::relu:
      return x < 0.0 ? 0.0 : x;
    case Activation::gelu:
      return 0.5 * x * std::erfc(-x * std::sqrt(0.5));
    case Activation::none:
      break;
  }
  return x;
}

// Computes C from its sums, in float64, so that C's type gets one correct rounding. The sums may be
// C itself. Works on a few vectors of C at a time: the copies stay in the cache.
void apply_epilogue(const HostProblem& problem, const ConstMatrixView& sums, const MatrixView& c) {
  constexpr std::int64_t elements = 1 << 18;
  const bool by_rows = c.order == Order::row_major;
  const bool bias_of_vector = problem.bias_per_row == by_rows;
  const std::int64_t length = c.vector_length();
  const std::int64_t most = std::min(c.vectors(), std::max<std::int64_t>(elements / length, 1));
  std::vector<double> values(static_cast<std::size_t>(most * length)), before(values.size());
  for (std::int64_t start = 0; start < c.vectors(); start += most) {
    const std::int64_t count = std::min(most, c.vectors() - start);
    const auto vectors_of = [&](const auto& matrix) {
      return by_rows ? part(matrix, start, count, 0, c.columns)
                     : part(matrix, 0, c.rows, start, count);
    };
    const MatrixView c_part = vectors_of(c);
    const auto view_of = [&](std::vector<double>& list) {
      return dense_view(static_cast<void*>(list.data()), DataType::float64, c_part.rows,
                        c_part.columns, c.order);
    };
    convert_matrix(vectors_of(sums), view_of(values));
    if (problem.beta != 0.0) convert_matrix(c_part, view_of(before));
    for_pieces(static_cast<std::size_t>(count * length), [&](std::size_t i) {
      double rest = problem.beta != 0.0 ? problem.beta * before[i] : 0.0;
      if (!problem.bias.empty()) {
        const auto at = static_cast<std::int64_t>(i);
        rest += static_cast<double>(problem.bias[static_cast<std::size_t>(
            bias_of_vector ? start + at / length : at % length)]);
      }
      const double value = problem.alpha * values[i] + rest;
      values[i] = activated(value, problem.activation);
    });
    convert_matrix(view_of(values), c_part);
  }
}

bool is_wide(DataType type) {
  return type == DataType::float64;
}

// Sums of int8 products: exact in float64, and then modulo 2^32, as int32 sums are.
void multiply_integers(const ConstMatrixView& a, const ConstMatrixView& b, const MatrixView& c) {
  const MatmulShape shape = product_shape(a, b);
  HostArray storage(DataType::float64, static_cast<std::size_t>(shape.m * shape.n));
  const MatrixView sums = dense_view(storage.data(), DataType::float64, shape.m, shape.n, c.order);
  converted_blas_matmul(a, b, sums, blas_cell(shape));
  auto* const to = static_cast<std::int32_t*>(c.mutable_data());
  const std::span<const double> exact = std::as_const(storage).as<double>();
  const auto length = static_cast<std::size_t>(c.vector_length());
  for_pieces(exact.size(), [&](std::size_t i) {
    const std::size_t at = i / length * static_cast<std::size_t>(c.leading) + i % length;
    to[at] = static_cast<std::int32_t>(static_cast<std::int64_t>(exact[i]));
  });
}

void multiply(const HostProblem& problem, std::int64_t index) {
  const MatmulShape shape = problem.shape();
  const MatrixView c = matrix_of(problem.c, index);
  if (problem.precision == Precision::int8 && shape.k > 0) {
    multiply_integers(matrix_of(problem.a, index), matrix_of(problem.b, index), c);
    return;
  }
  RoundedOperand a(matrix_of(problem.a, index), problem.precision);
  RoundedOperand b(matrix_of(problem.b, index), problem.precision);
  a.scale(problem.scales_of_a, problem.scale_a, false);
  b.scale(problem.scales_of_b, problem.scale_b, true);
  const DataType sum = sum_type(problem.precision);
  // Directly into C if BLAS's sums have the right type for it; else into a copy.
  const bool sums_fit =
      (is_wide(a.view().type) || is_wide(b.view().type) || is_wide(c.type)) == is_wide(sum);
  const bool direct = problem.plain() ? sums_fit : c.type == sum && problem.beta == 0.0 && sums_fit;
  HostArray storage;
  MatrixView sums = c;
  if (!direct) {
    storage = HostArray(sum, static_cast<std::size_t>(shape.m * shape.n));
    sums = dense_view(storage.data(), sum, shape.m, shape.n, c.order);
  }
  if (shape.k > 0) {
    converted_blas_matmul(a.view(), b.view(), sums, blas_cell(shape));
  } else {
    fill_zero(sums);
  }
  if (!problem.plain()) {
    apply_epilogue(problem, sums, c);
  } else if (!direct) {
    convert_matrix(sums, c);
  }
}

}  // namespace

void add_on_cpu(const ConstMatrixView& a, const ConstMatrixView& b, Precision precision,
                const MatrixView& sums, const MatmulShape& cell, bool accumulate) {
  if (a.columns == 0) {
    if (!accumulate) fill_zero(sums);
    return;
  }
  const RoundedOperand left(a, precision), right(b, precision);
  converted_blas_matmul(left.view(), right.view(), sums, cell, accumulate);
}

void finish_on_cpu(const HostProblem& problem, const ConstMatrixView& sums) {
  const MatrixView& c = problem.c.first;
  if (c.empty()) return;
  if (problem.plain()) {
    if (sums.data != c.data) convert_matrix(sums, c);
  } else {
    apply_epilogue(problem, sums, c);
  }
}

MatmulReport multiply_on_cpu(const HostProblem& problem) {
  MatmulReport report{.variant = "cpu_blas", .precision = problem.precision};
  if (problem.precision == Precision::fp32_fast) report.note = "computed as fp32";
  const bool is_empty = problem.c.first.empty() || problem.batch() == 0;
  if (is_empty || problem.shape().k == 0) {
    report.variant = "none (no products to sum)";
  } else {
    OpenBlas::instance();  // opening the library is no part of the product's time
  }
  if (is_empty) return report;
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < problem.batch(); ++i) multiply(problem, i);
  if (problem.shape().k > 0) {
    report.compute_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }
  return report;
}

}  // namespace tilescope::operations
