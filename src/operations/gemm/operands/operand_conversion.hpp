// Copies of operands in device memory: in another type, order or padding.
#pragma once

#include <optional>
#include <string_view>
#include <tilescope/device.hpp>

#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

/// An operand of `rows` x `columns` in a layout.
struct OperandLayout {
  GemmOperand operand;
  std::int64_t rows = 0, columns = 0;

  std::int64_t vectors() const { return operand.order == Order::row_major ? rows : columns; }
  std::int64_t vector_length() const { return operand.order == Order::row_major ? columns : rows; }
};

/// Copies a batch of matrices from one layout to another; extents beyond the source's are zeros.
class OperandConversion {
 public:
  OperandConversion(Device& device, const OperandLayout& from, const OperandLayout& to,
                    std::int64_t batch);
  void run(DeviceAddress from, DeviceAddress to, const Stream& stream) const;

 private:
  Device& device_;
  OperandLayout from_, to_;
  Launch launch_;
  Kernel kernel_;
};

/// An operand as a kernel takes it: its own memory if it lies that way, else a copy.
class StagedOperand {
 public:
  /// `given`: how it lies; `taken`: how the kernel takes it.
  StagedOperand(Device& device, const OperandLayout& given, const OperandLayout& taken,
                std::int64_t batch, std::string_view name);

  /// The kernel's address for an operand at `given`.
  DeviceAddress address(DeviceAddress given) const;
  /// Queue the copy from, or to, an operand at `given`.
  void copy_in(DeviceAddress given, const Stream& stream) const;
  void copy_out(DeviceAddress given, const Stream& stream) const;

 private:
  Buffer copy_;
  std::optional<OperandConversion> in_, out_;
};

/// A layout for a copy: vectors begin at multiples of 16 bytes, which wide loads need; long ones
/// begin with a cache line, since tiles of them are read in fewer pieces. `repeated`: one matrix
/// stands for the whole batch.
GemmOperand padded_operand(const OperandLayout& shape, DataType type, bool repeated);
/// The same for one matrix.
GemmOperand padded_operand(Order order, std::int64_t rows, std::int64_t columns, DataType type);

}  // namespace tilescope::operations
