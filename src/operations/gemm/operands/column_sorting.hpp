// A's columns in the order in which kernels/gemm/unaligned_rows.cu multiplies them.
#pragma once

#include "operations/gemm/operands/tensor_layout.hpp"

namespace tilescope::operations {

/// A copy of a matrix of 16-bit elements, sorted as kernels/gemm/sort_columns.cu defines, in rows
/// of whole tiles of 64 columns. Columns beyond the matrix are zeros. `transposed`: the matrix is
/// column-major, so that `from` has its columns as rows.
class ColumnSorting {
 public:
  ColumnSorting(Device& device, const RowsInMemory& from, bool transposed);
  const RowsInMemory& result() const { return to_; }
  DeviceAddress address() const { return buffer_.address(); }
  void run(DeviceAddress from, const Stream& stream) const;

 private:
  Device& device_;
  RowsInMemory from_, to_;
  std::int32_t columns_ = 0;  // without those beyond the matrix
  Launch launch_;
  Buffer buffer_;
  Kernel kernel_;
};

}  // namespace tilescope::operations
