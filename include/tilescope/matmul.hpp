// C = A * B for matrices in host memory, on any device.
#pragma once

#include <string>
#include <string_view>

#include "tilescope/device.hpp"
#include "tilescope/matrix.hpp"

namespace tilescope {

/// In what arithmetic products are formed and summed.
enum class Precision {
  automatic,  ///< fp64 if an operand is float64, else fp32
  fp32,       ///< IEEE float32: fused multiply-add, one rounding each
  fp32_fast,  ///< tensor cores on operands cut in parts; errors no larger than those of fp32
  tf32,       ///< operands cut to 11 significant bits; sums in float32
  bf16,       ///< operands rounded to bfloat16; sums in float32
  fp16,       ///< operands rounded to float16; sums in float32
  fp64,
};

/// "auto", "fp32", "fp32_fast", "tf32", "bf16", "fp16", "fp64".
std::string_view name_of(Precision precision);

/// The precision of that name. Throws Error(usage), suggesting the nearest name, for any other
/// text.
Precision parse_precision(std::string_view name);

/// What is applied to each element before it is stored.
enum class Activation {
  none,
  relu,  ///< max(x, 0); NaN stays NaN
  gelu,  ///< x/2 (1 + erf(x / sqrt(2)))
};

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
