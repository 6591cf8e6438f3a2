// Products of matrices that do not fit the device: tiles of C, with panels of A and B streamed.
#pragma once

#include <string>
#include <tilescope/device.hpp>
#include <tilescope/matrix.hpp>

#include "transfer/out_of_core_plan.hpp"

namespace tilescope::transfer {

struct OutOfCoreReport {
  OutOfCorePlan plan;
  std::string variant;
  double seconds = 0.0;       ///< from the first allocation to the last tile in place
  double busy_seconds = 0.0;  ///< time of these seconds with a running kernel (0 on the cpu device)
  bool cancelled = false;
};

/// The plan of out_of_core_matmul() for these operands and a C of this type and order.
OutOfCorePlan plan_of(const Device& device, const ConstMatrixView& a, const ConstMatrixView& b,
                      DataType c, Order c_order, const OutOfCoreOptions& options);

/// C = A * B with at most `device_bytes` of device memory (on the cpu device: for one tile and its
/// panels). Views as for matmul(). The result does not depend on the limit, to the last bit: it is
/// that of the same variant without one (on the cpu device, of matmul()). Tiles are numbered row by
/// row; those of a column-major C on another device column by column. Errors: usage as matmul() and
/// plan_out_of_core().
OutOfCoreReport out_of_core_matmul(Device& device, const ConstMatrixView& a,
                                   const ConstMatrixView& b, const MatrixView& c,
                                   const OutOfCoreOptions& options);

}  // namespace tilescope::transfer
