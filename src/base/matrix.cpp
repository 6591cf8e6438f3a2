#include <fmt/format.h>

#include <limits>
#include <tilescope/matrix.hpp>

#include "base/errors.hpp"

namespace tilescope {
namespace {

template <typename View, typename Pointer>
View make_dense(Pointer data, DataType type, std::int64_t rows, std::int64_t columns, Order order) {
  View view;
  view.data = data;
  view.type = type;
  view.rows = rows;
  view.columns = columns;
  view.order = order;
  view.leading = order == Order::row_major ? columns : rows;
  return view;
}

}  // namespace

ConstMatrixView dense_view(const void* data, DataType type, std::int64_t rows, std::int64_t columns,
                           Order order) {
  return make_dense<ConstMatrixView>(data, type, rows, columns, order);
}

MatrixView dense_view(void* data, DataType type, std::int64_t rows, std::int64_t columns,
                      Order order) {
  return make_dense<MatrixView>(data, type, rows, columns, order);
}

void require_elements(std::size_t elements, std::int64_t rows, std::int64_t columns,
                      const char* name) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const bool has_shape = rows >= 0 && columns >= 0 && (columns == 0 || rows <= most / columns);
  if (has_shape && elements == static_cast<std::size_t>(rows * columns)) return;
  throw usage_error("{} is {} x {}, and its list has {} elements: it must have just as many", name,
                    rows, columns, elements);
}

std::string shape_text(const ConstMatrixView& matrix) {
  return fmt::format("{} x {}", matrix.rows, matrix.columns);
}

std::string shape_text(const MatmulShape& shape) {
  return fmt::format("{} x {} x {}", shape.m, shape.n, shape.k);
}

void require_valid(const ConstMatrixView& matrix, const char* name) {
  if (matrix.rows < 0 || matrix.columns < 0) {
    throw usage_error("{} is {}: extents must be 0 or more", name, shape_text(matrix));
  }
  if (matrix.leading < matrix.vector_length()) {
    throw usage_error("{} is {} with leading dimension {}: it must be at least {}", name,
                      shape_text(matrix), matrix.leading, matrix.vector_length());
  }
  const std::int64_t vectors = matrix.vectors();
  const auto element = static_cast<std::int64_t>(size_of(matrix.type));
  if (vectors > 0 &&
      matrix.leading > std::numeric_limits<std::int64_t>::max() / element / vectors) {
    throw usage_error("{} is {}: its size in bytes exceeds 63 bits", name, shape_text(matrix));
  }
  if (!matrix.data && !matrix.empty()) {
    throw usage_error("{} is {} but its data pointer is null", name, shape_text(matrix));
  }
}

MatmulShape product_shape(const ConstMatrixView& a, const ConstMatrixView& b) {
  if (a.columns != b.rows) {
    throw usage_error("A is {} and B is {}: A's {} columns must equal B's {} rows", shape_text(a),
                      shape_text(b), a.columns, b.rows);
  }
  return {.m = a.rows, .n = b.columns, .k = a.columns};
}

}  // namespace tilescope
