// One matmul kernel ready to run on one device: loaded, with padded operands in device memory.
#pragma once

#include <tilescope/device.hpp>
#include <tilescope/matrix.hpp>

#include "operations/matmul/matmul_variants.hpp"

namespace tilescope::operations {

/// The compilation of one kernel of the table.
KernelRequest matmul_request(const MatmulVariant& variant, const MatmulPlan& plan, DataType element,
                             bool accumulate = false);

/// Operands of one product on the device, in the layout and padding of one variant.
class DeviceOperands {
 public:
  DeviceOperands(Device& device, const MatmulShape& shape, const MatmulShape& padded, Order b_order,
                 DataType element = DataType::float32);

  /// Copies dense or strided host operands of the element type. `a` must be row-major and `b` of
  /// the variant's order; the padding is zero.
  void upload(const ConstMatrixView& a, const ConstMatrixView& b);
  /// Fills C with a byte: 0xFF makes every element a NaN.
  void fill_c(std::uint8_t byte);
  /// Copies C's m x n elements into a row-major view of the element type.
  void download(const MatrixView& c);

  DeviceAddress a() const { return a_.address(); }
  DeviceAddress b() const { return b_.address(); }
  DeviceAddress c() const { return c_.address(); }

 private:
  std::size_t bytes_of(std::int64_t rows, std::int64_t columns) const;
  void upload_vectors(DeviceAddress to, std::int64_t to_leading, const ConstMatrixView& from);

  Device& device_;
  MatmulShape shape_, padded_;
  Order b_order_;
  std::size_t element_bytes_;
  Buffer a_, b_, c_;
};

/// Kernel and launch for one shape.
class KernelProduct {
 public:
  /// `element` is float32, or float64 for variants that take any element. `accumulate` (for
  /// variants that can): C += A * B.
  KernelProduct(Device& device, const MatmulVariant& variant, const MatmulShape& shape,
                DataType element = DataType::float32, bool accumulate = false);

  const MatmulShape& padded() const { return padded_; }
  DeviceOperands operands() const;
  /// Queues C = A * B on the default stream.
  void run(const DeviceOperands& operands) const;
  /// The same for operands anywhere in device memory, dense in the padded shape, on a stream.
  void run(DeviceAddress a, DeviceAddress b, DeviceAddress c, const Stream& stream = {}) const;

 private:
  Device& device_;
  const MatmulVariant& variant_;
  MatmulShape shape_, padded_;
  DataType element_;
  MatmulPlan plan_;
  Kernel kernel_;
};

}  // namespace tilescope::operations
