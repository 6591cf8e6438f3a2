// C = A * B for matrices in host memory, on any device.
#pragma once

#include <string>

#include "tilescope/device.hpp"
#include "tilescope/matrix.hpp"

namespace tilescope {

/// How to multiply.
struct MatmulOptions {
  std::string variant;  ///< a rung of the ladder, such as "tiled_16"; empty: the device's best
};

/// What the multiplication did.
struct MatmulReport {
  std::string variant;      ///< the rung that ran
  double compute_ms = 0.0;  ///< the product alone: without copies, compilation or conversion
};

/// Multiplies A (m x k) by B (k x n) into C (m x n). Types may differ: the product is computed in
/// float64 if any operand is float64, else in float32 with float32 accumulation, and rounded to
/// C's type once. Empty operands give zeros. NaN and infinity propagate as IEEE 754 says.
///
/// Errors: usage for shapes, types or a variant that do not fit; no_device as Device says.
MatmulReport matmul(Device& device, const ConstMatrixView& a, const ConstMatrixView& b,
                    const MatrixView& c, const MatmulOptions& options = {});

/// The type NumPy gives the product of two floating-point types: the wider one.
DataType product_type(DataType a, DataType b);

}  // namespace tilescope
