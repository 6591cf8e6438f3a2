// The effect of a precision on operands, and the bound on the error of an element of C.
#pragma once

#include <cstdint>
#include <span>
#include <tilescope/array.hpp>
#include <tilescope/matmul.hpp>

namespace tilescope::operations {

/// Elements [first, first + values.size()) of an operand as kernels of `precision` multiply them:
/// unchanged, except that tf32 cuts float32 to 10 explicit bits, as tensor cores read it.
void widen_operand(const ConstArrayView& operand, Precision precision, std::size_t first,
                   std::span<double> values);

/// The largest correct |c - exact| for an element whose exact value, from such operands, is `value`
/// and whose sum of |a||b| is `magnitude`: (k + 2) u times the magnitude, u being the error of one
/// step of the sum, and one rounding if C's type is narrower than that of the sums. For 8-bit
/// floats 2^-5.9 of the magnitude besides; int8 is exact.
double product_bound(Precision precision, DataType c_type, std::int64_t k, double value,
                     double magnitude);

/// The error of rounding a sum `value` to C's type, to nearest: 0 where that is as wide as sums.
double result_roundoff(DataType c_type, double value);

/// The additional error allowed to a vendor's library, as a share of `magnitude`: its conversion of
/// float32 to TF32 is undocumented. Rounding to nearest differs from cutting by up to 2^-10 of an
/// operand, which moves a product by twice that. How often it promotes sums of 8-bit floats is not
/// documented either. 0 in every other precision.
double peer_slack(Precision precision);

}  // namespace tilescope::operations
