#include "operations/gemm/problem/host_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/errors.hpp"
#include "operations/gemm/problem/overlap.hpp"

namespace tilescope::operations {
namespace {

void require_operand(const ConstMatrixView& matrix, std::int64_t count, std::int64_t stride,
                     const char* name) {
  if (count != 0) require_valid(matrix, name);  // no matrices need no memory
  if (count < 0 || stride < 0) {
    throw usage_error("{} is a batch of {} matrices {} elements apart: neither may be negative",
                      name, count, stride);
  }
}

// Requires the matrices of C to lie one behind the other, those of a column-major C too.
void require_apart(const MatrixBatch& c) {
  const MatrixView& first = c.first;
  if (c.count < 2 || first.empty()) return;
  const std::int64_t extent = (first.vectors() - 1) * first.leading + first.vector_length();
  if (c.stride >= extent) return;
  throw usage_error("the matrices of C overlap: each takes {} elements, and they are {} apart",
                    extent, c.stride);
}

// Requires types that the precision can multiply: floating-point ones, those of 8 bits for A and B
// alone; in int8 int8 and int32.
void require_types(Precision precision, DataType a, DataType b, DataType c) {
  const auto is_operand = [&](DataType type) {
    return precision == Precision::int8 ? type == DataType::int8
                                        : is_floating(type) || is_float8(type);
  };
  for (const auto& [type, name] : {std::pair{a, "A"}, std::pair{b, "B"}}) {
    if (is_operand(type)) continue;
    if (precision == Precision::int8) {
      throw usage_error("{} is {}: in int8 matmul takes int8", name, name_of(type));
    }
    if (type == DataType::int8) {
      throw usage_error("{} is int8: int8 goes with int8 alone, in precision int8", name);
    }
    throw usage_error("{} is {}: matmul takes float16, bfloat16, float32 and float64", name,
                      name_of(type));
  }
  if (precision == Precision::int8 ? c == DataType::int32 : is_floating(c)) return;
  if (precision == Precision::int8) throw usage_error("C is {}: in int8 it is int32", name_of(c));
  throw usage_error("C is {}: matmul takes float16, bfloat16, float32 and float64", name_of(c));
}

// Sums of whole numbers have no factors and no other additions.
void require_plain_in_int8(const HostProblem& problem) {
  if (problem.precision != Precision::int8 || problem.plain()) return;
  const char* option = problem.alpha != 1.0    ? "alpha"
                       : problem.beta != 0.0   ? "beta"
                       : !problem.bias.empty() ? "bias"
                                               : "activation";
  throw usage_error("int8 computes A * B and nothing else: leave out {}", option);
}

Precision resolved(Precision precision, DataType a, DataType b, DataType c) {
  if (precision != Precision::automatic) return precision;
  if (a == b) {
    for (const Precision own : {Precision::fp8_e4m3, Precision::fp8_e5m2, Precision::int8}) {
      if (a == operand_type(own)) return own;
    }
  }
  const bool wide = std::max({size_of(a), size_of(b), size_of(c)}) == size_of(DataType::float64);
  return wide ? Precision::fp64 : Precision::fp32;
}

// The layout of the factors of A or B, which has `extent` rows or columns. Throws Error(usage) for
// a shape that belongs to no layout.
ScaleLayout scale_layout(const OperandScales& scales, std::int64_t extent, std::int64_t k,
                         bool is_a) {
  using Layout = ScaleLayout;
  const auto blocks_of = [](std::int64_t count) {
    return (count + Layout::block - 1) / Layout::block;
  };
  const std::int64_t x = is_a ? scales.rows : scales.columns;
  const std::int64_t steps = is_a ? scales.columns : scales.rows;
  Layout layout{.count = scales.rows * scales.columns};
  const bool is_of_blocks = steps == blocks_of(k) && x == (is_a ? extent : blocks_of(extent));
  if (scales.rows < 1 || scales.columns < 1 ||
      layout.count != static_cast<std::int64_t>(scales.values.size())) {
    throw usage_error("the scales of {} are {} values for a shape of {} x {}", is_a ? "A" : "B",
                      scales.values.size(), scales.rows, scales.columns);
  }
  if (layout.count == 1) {
    layout.shift = Layout::shift_of_all;
  } else if (steps == 1 && x == extent) {
    layout.pitch = 1;
  } else if (is_of_blocks) {
    layout.shift = is_a ? 0 : Layout::shift_of_block;
    layout.pitch = static_cast<std::int32_t>(is_a ? steps : 1);
    layout.step_pitch = static_cast<std::int32_t>(is_a ? 1 : x);
  } else {
    throw usage_error(
        "the scales of {} are {} x {}: expected 1 x 1, {}", is_a ? "A" : "B", scales.rows,
        scales.columns,
        is_a ? fmt::format("{} x 1 or {} x {}", extent, extent, blocks_of(k))
             : fmt::format("1 x {} or {} x {}", extent, blocks_of(k), blocks_of(extent)));
  }
  return layout;
}

void add_scales(HostProblem& problem, const MatmulOptions& options) {
  const MatmulShape shape = problem.shape();
  for (const bool is_a : {true, false}) {
    const OperandScales& scales = is_a ? options.scale_a : options.scale_b;
    if (scales.values.empty()) continue;
    const DataType type = (is_a ? problem.a : problem.b).first.type;
    const char* const name = is_a ? "A" : "B";
    if (!has_float8_operands(problem.precision) || type != operand_type(problem.precision)) {
      throw usage_error("{} is {} and the precision {}: scales belong to 8-bit floats", name,
                        name_of(type), name_of(problem.precision));
    }
    if (problem.batch() != 1) throw usage_error("scales of {}: a batch has none", name);
    (is_a ? problem.scale_a : problem.scale_b) =
        scale_layout(scales, is_a ? shape.m : shape.n, shape.k, is_a);
    (is_a ? problem.scales_of_a : problem.scales_of_b) = scales.values.data();
  }
}

template <typename Batch>
Batch transposed(Batch batch) {
  auto& view = batch.first;
  std::swap(view.rows, view.columns);
  view.order = view.order == Order::row_major ? Order::column_major : Order::row_major;
  return batch;
}

template <typename Batch>
auto matrix_at(const Batch& batch, std::int64_t index) {
  auto view = batch.first;
  view.data = static_cast<const std::byte*>(view.data) +
              static_cast<std::size_t>(index * batch.stride) * size_of(view.type);
  return view;
}

}  // namespace

bool HostProblem::plain() const {
  return alpha == 1.0 && beta == 0.0 && bias.empty() && activation == Activation::none;
}

HostProblem host_problem(const ConstMatrixBatch& a, const ConstMatrixBatch& b, const MatrixBatch& c,
                         const MatmulOptions& options) {
  const Precision precision = resolved(options.precision, a.first.type, b.first.type, c.first.type);
  require_types(precision, a.first.type, b.first.type, c.first.type);
  require_operand(a.first, a.count, a.stride, "A");
  require_operand(b.first, b.count, b.stride, "B");
  require_operand(c.first, c.count, c.stride, "C");
  const MatmulShape shape = product_shape(a.first, b.first);
  if (c.first.rows != shape.m || c.first.columns != shape.n) {
    throw usage_error("C is {} but A ({}) times B ({}) is {} x {}", shape_text(c.first),
                      shape_text(a.first), shape_text(b.first), shape.m, shape.n);
  }
  if (a.count != c.count || b.count != c.count) {
    throw usage_error(
        "the batches have {}, {} and {} matrices: A, B and C need equally many (stride 0 repeats "
        "one)",
        a.count, b.count, c.count);
  }
  require_apart(c);
  if (!options.bias.empty() && static_cast<std::int64_t>(options.bias.size()) != shape.n) {
    throw usage_error("the bias has {} values: it needs one for each of the {} columns of C",
                      options.bias.size(), shape.n);
  }
  HostProblem problem{.a = a,
                      .b = b,
                      .c = c,
                      .precision = precision,
                      .alpha = options.alpha,
                      .beta = options.beta,
                      .bias = options.bias,
                      .activation = options.activation};
  add_scales(problem, options);
  require_plain_in_int8(problem);
  return problem;
}

void require_unscaled(const MatmulOptions& options) {
  if (options.scale_a.values.empty() && options.scale_b.values.empty()) return;
  throw usage_error("scales are for single products, not for lists");
}

void require_own_memory(const HostProblem& problem) {
  const ConstMatrixBatch c{problem.c.first, problem.c.count, problem.c.stride};
  for (const ConstMatrixBatch* operand : {&problem.a, &problem.b}) {
    if (overlaps(*operand, c)) {
      throw usage_error("C shares memory with {}: a product cannot be computed in place",
                        operand == &problem.a ? "A" : "B");
    }
  }
  for (const auto& [scales, layout] : {std::pair{problem.scales_of_a, problem.scale_a},
                                       std::pair{problem.scales_of_b, problem.scale_b}}) {
    if (layout.exists() && overlaps({dense_view(scales, DataType::float32, 1, layout.count)}, c)) {
      throw usage_error("C shares memory with scales: give it memory of its own");
    }
  }
  const auto values = static_cast<std::int64_t>(problem.bias.size());
  if (overlaps({dense_view(problem.bias.data(), DataType::float32, 1, values)}, c)) {
    throw usage_error("C shares memory with the bias: give it memory of its own");
  }
}

HostProblem with_rows_of_c(const HostProblem& problem) {
  if (problem.c.first.order == Order::row_major) return problem;
  HostProblem other = problem;
  other.a = transposed(problem.b);
  other.b = transposed(problem.a);
  other.c = transposed(problem.c);
  other.bias_per_row = !problem.bias_per_row;
  std::swap(other.scales_of_a, other.scales_of_b);
  std::swap(other.scale_a, other.scale_b);
  return other;
}

ConstMatrixView matrix_of(const ConstMatrixBatch& batch, std::int64_t index) {
  return matrix_at(batch, index);
}

MatrixView matrix_of(const MatrixBatch& batch, std::int64_t index) {
  return matrix_at(batch, index);
}

}  // namespace tilescope::operations
