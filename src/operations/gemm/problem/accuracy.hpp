// What arithmetic of a precision makes of its operands, and how far from the exact product of those
// an element of C may lie.
#pragma once

#include <cstdint>
#include <span>
#include <tilescope/array.hpp>
#include <tilescope/matmul.hpp>

namespace tilescope::operations {

/// Elements [first, first + values.size()) of an operand as kernels of `precision` multiply them:
/// as they are, but float32 cut to TF32's 10 explicit bits for tf32, as tensor cores read it.
void widen_operand(const ConstArrayView& operand, Precision precision, std::size_t first,
                   std::span<double> values);

/// The largest |c - exact| that is right for an element whose exact value, from such operands, is
/// `value` and whose sum of |a||b| is `magnitude`: (k + 2) u times the magnitude, u being the error
/// of one step of the sum, and one rounding where C's type is narrower than that of the sums.
double product_bound(Precision precision, DataType c_type, std::int64_t k, double value,
                     double magnitude);

/// What a vendor's library may be off in addition, as a share of `magnitude`: it does not say how
/// it makes TF32 of float32. Rounding to nearest moves an operand by up to 2^-10 of itself from
/// where cutting does, a product by twice that. 0 in every other precision.
double peer_slack(Precision precision);

}  // namespace tilescope::operations
