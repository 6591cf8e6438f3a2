// Views of matrices in host memory: any type, either storage order, any leading dimension.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <string>

#include "tilescope/element_type.hpp"
#include "tilescope/types.hpp"

namespace tilescope {

/// The index that runs fastest in memory: the column in row_major (NumPy's "C" order), the row in
/// column_major ("Fortran").
enum class Order { row_major, column_major };

/// A read-only matrix, owned by the caller. Element (i, j) lies at `data + i * leading + j`
/// elements in row-major order, `data + i + j * leading` in column-major order.
struct ConstMatrixView {
  const void* data = nullptr;
  DataType type = DataType::float32;
  std::int64_t rows = 0, columns = 0;
  Order order = Order::row_major;
  std::int64_t leading = 0;  ///< elements between rows (row-major) or columns (column-major)

  std::int64_t vectors() const { return order == Order::row_major ? rows : columns; }
  std::int64_t vector_length() const { return order == Order::row_major ? columns : rows; }
  bool empty() const { return rows == 0 || columns == 0; }
};

/// A matrix that can be written.
struct MatrixView : ConstMatrixView {
  void* mutable_data() const { return const_cast<void*>(data); }
};

/// A dense view: the leading dimension is the length of one row (row-major) or column
/// (column-major).
///
///     const ConstMatrixView a = dense_view(data, DataType::float32, 3, 5);
ConstMatrixView dense_view(const void* data, DataType type, std::int64_t rows, std::int64_t columns,
                           Order order = Order::row_major);
MatrixView dense_view(void* data, DataType type, std::int64_t rows, std::int64_t columns,
                      Order order = Order::row_major);

/// The dense view of a vector, array or span, with its type. Throws Error(usage) unless it has rows
/// * columns elements.
///
///     transpose(*device, dense_view(x, rows, columns), dense_view(y, columns, rows));
template <ElementRange Range>
ConstMatrixView dense_view(const Range& elements, std::int64_t rows, std::int64_t columns,
                           Order order = Order::row_major);
template <MutableElementRange Range>
MatrixView dense_view(Range&& elements, std::int64_t rows, std::int64_t columns,
                      Order order = Order::row_major);

/// Throws Error(usage) unless a dense matrix of this shape has `elements` elements. The message
/// calls it `name`.
void require_elements(std::size_t elements, std::int64_t rows, std::int64_t columns,
                      const char* name);

/// The shape as "3 x 5".
std::string shape_text(const ConstMatrixView& matrix);

/// Throws Error(usage) for negative extents, a leading dimension shorter than a row or column,
/// missing data, or extents whose product does not fit in 63 bits. The message calls the matrix
/// `name`.
void require_valid(const ConstMatrixView& matrix, const char* name);

/// The extents m, n, k of C(m x n) = A(m x k) * B(k x n).
struct MatmulShape {
  std::int64_t m = 0, n = 0, k = 0;

  /// Multiplications and additions: 2 m n k.
  double flops() const { return 2.0 * double(m) * double(n) * double(k); }
  friend bool operator==(const MatmulShape&, const MatmulShape&) = default;
};

std::string shape_text(const MatmulShape& shape);

/// Dense row-major views of the lists that hold A, B and C. Throws Error(usage) for a list that has
/// not as many elements as its matrix.
struct DenseOperands {
  ConstMatrixView a, b;
  MatrixView c;

  template <ElementRange A, ElementRange B, MutableElementRange C>
  DenseOperands(const A& in_a, const B& in_b, C&& in_c, const MatmulShape& shape);
};

/// The shape of A times B. Throws Error(usage) naming both shapes when the inner extents differ.
MatmulShape product_shape(const ConstMatrixView& a, const ConstMatrixView& b);

// --- templates

namespace detail {
template <typename Range>
auto named_view(Range& elements, std::int64_t rows, std::int64_t columns, Order order,
                const char* name) {
  require_elements(std::ranges::size(elements), rows, columns, name);
  return dense_view(std::ranges::data(elements), data_type_of<std::ranges::range_value_t<Range>>(),
                    rows, columns, order);
}
}  // namespace detail

template <ElementRange Range>
ConstMatrixView dense_view(const Range& elements, std::int64_t rows, std::int64_t columns,
                           Order order) {
  return detail::named_view(elements, rows, columns, order, "the matrix");
}

template <MutableElementRange Range>
MatrixView dense_view(Range&& elements, std::int64_t rows, std::int64_t columns, Order order) {
  return detail::named_view(elements, rows, columns, order, "the matrix");
}

template <ElementRange A, ElementRange B, MutableElementRange C>
DenseOperands::DenseOperands(const A& in_a, const B& in_b, C&& in_c, const MatmulShape& shape)
    : a(detail::named_view(in_a, shape.m, shape.k, Order::row_major, "A")),
      b(detail::named_view(in_b, shape.k, shape.n, Order::row_major, "B")),
      c(detail::named_view(in_c, shape.m, shape.n, Order::row_major, "C")) {}

}  // namespace tilescope
