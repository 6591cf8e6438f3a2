// Parts of matrices and lists, and conversion between the types and orders of the caller and those
// of kernels and BLAS.
#pragma once

#include <cstddef>
#include <tilescope/array.hpp>
#include <tilescope/matrix.hpp>
#include <vector>

namespace tilescope::operations {

/// Rows [row, row + rows) and columns [column, column + columns) of a matrix.
ConstMatrixView part(ConstMatrixView matrix, std::int64_t row, std::int64_t rows,
                     std::int64_t column, std::int64_t columns);
MatrixView part(MatrixView matrix, std::int64_t row, std::int64_t rows, std::int64_t column,
                std::int64_t columns);

/// Elements [first, first + count) of a list.
ConstArrayView part(const ConstArrayView& list, std::size_t first, std::size_t count);
ArrayView part(const ArrayView& list, std::size_t first, std::size_t count);

/// Converts every element of `from` into `to`, which has the same shape; type, order and leading
/// dimension may differ. Values are rounded to nearest even, NaN stays NaN. Types: all
/// floating-point ones, those of 8 bits among them; int8 in `from`.
void convert_matrix(const ConstMatrixView& from, const MatrixView& to);

/// A matrix of a given type and order: the caller's own memory if it already has them, else a copy.
class ConvertedMatrix {
 public:
  ConvertedMatrix(const ConstMatrixView& matrix, DataType type, Order order);
  const ConstMatrixView& view() const { return view_; }

 private:
  std::vector<std::byte> copy_;
  ConstMatrixView view_;
};

}  // namespace tilescope::operations
