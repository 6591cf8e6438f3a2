// A's columns sorted by the residue classes that rows of B make.
#pragma once

#include "operations/gemm/tensor_layout.hpp"

namespace tilescope::operations {

class ColumnGathering {
 public:
  /// Sorts the columns of a matrix of 16-bit elements by their number modulo `classes`. A class has
  /// room for `class_columns` columns, a multiple of 8; what it does not have is zero.
  ColumnGathering(Device& device, const RowsInMemory& from, int classes,
                  std::int64_t class_columns);
  const RowsInMemory& result() const { return to_; }
  DeviceAddress address() const { return buffer_.address(); }
  void run(DeviceAddress from, const Stream& stream) const;

 private:
  Device& device_;
  RowsInMemory from_, to_;
  std::int64_t class_columns_;
  Buffer buffer_;
  Kernel kernel_;
};

}  // namespace tilescope::operations
