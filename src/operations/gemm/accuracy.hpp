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
/// `value` and whose sum of |a||b| is `magnitude`: one rounding for each of the k products and of
/// the sums, and one to C's type.
double product_bound(Precision precision, DataType c_type, std::int64_t k, double value,
                     double magnitude);

}  // namespace tilescope::operations
