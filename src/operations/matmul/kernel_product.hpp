// One matmul kernel made ready on one device: loaded, with padded operands in device memory.
#pragma once

#include <tilescope/device.hpp>
#include <tilescope/matrix.hpp>

#include "operations/matmul/variants.hpp"

namespace tilescope::operations {

/// What to compile for one kernel of the table.
KernelRequest matmul_request(const MatmulVariant& variant, const MatmulPlan& plan);

/// Operands of one product on the device, float32, in the layout and padding of one variant.
class DeviceOperands {
 public:
  DeviceOperands(Device& device, const MatmulShape& shape, const MatmulShape& padded,
                 Order b_order);

  /// Copies dense or strided float32 host operands. `a` must be row-major and `b` of the variant's
  /// order; the padding is zero.
  void upload(const ConstMatrixView& a, const ConstMatrixView& b);
  /// Fills C with a byte: 0xFF makes every float a NaN.
  void fill_c(std::uint8_t byte);
  /// Copies C's m x n elements into a row-major float32 view.
  void download(const MatrixView& c);

  DeviceAddress a() const { return a_.address(); }
  DeviceAddress b() const { return b_.address(); }
  DeviceAddress c() const { return c_.address(); }

 private:
  Device& device_;
  MatmulShape shape_, padded_;
  Order b_order_;
  Buffer a_, b_, c_;
};

/// Kernel and launch for one shape.
class KernelProduct {
 public:
  KernelProduct(Device& device, const MatmulVariant& variant, const MatmulShape& shape);

  const MatmulShape& padded() const { return padded_; }
  DeviceOperands operands() const;
  /// Queues C = A * B on the default stream.
  void run(const DeviceOperands& operands) const;

 private:
  Device& device_;
  const MatmulVariant& variant_;
  MatmulShape shape_, padded_;
  MatmulPlan plan_;
  Kernel kernel_;
};

}  // namespace tilescope::operations
