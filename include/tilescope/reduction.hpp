// Reductions of a list to one value: sum, minimum, maximum, index of the maximum.
#pragma once

#include <cstdint>
#include <string_view>

#include "tilescope/array.hpp"
#include "tilescope/device.hpp"
#include "tilescope/prepared_operation.hpp"
#include "tilescope/run_report.hpp"

namespace tilescope {

enum class Reduction { sum, min, max, argmax };

/// "sum", "min", "max", "argmax".
std::string_view name_of(Reduction reduction);
/// The reduction called `name`. Throws Error(usage) for any other text.
Reduction parse_reduction(std::string_view name);

/// The value of a reduction, in the member that its kind and the elements' type determine.
struct Reduced {
  DataType type = DataType::float64;  ///< float64: `real`; int64: `integer`
  double real = 0.0;
  std::int64_t integer = 0;
  RunReport report;
};

/// Reduces a list of float32, float64 or int32 of up to 2^33 elements. The result is the same in
/// every run on one device: nothing depends on which thread comes first.
///
///  - sum: of float32 and float64 a float64. On a GPU floats are summed in float within a thread
///    and in double across threads: with t additions in a thread, at most t * 2^-24 * sum |x| from
///    the exact sum. On the CPU, and by the variant fixed_order, they are summed in double, in an
///    order that depends on the list alone: the same bits on every device. Of int32 an int64,
///    exact. Of nothing 0. A NaN makes it NaN; infinities do as IEEE 754 says.
///  - min, max: in the type of the elements (float32 is given as a float64, which is exact); NaN if
///    any element is NaN. Zeros of either sign are equal, and a result that is zero is +0.
///  - argmax: the index, an int64, of the first largest element (-0 and +0 are equal), or of the
///    first NaN if there is one, as NumPy's.
///
/// Errors: usage for min, max and argmax of nothing, other types, or a variant that does not exist;
/// no_device as Device says.
Reduced reduce(Device& device, const ConstArrayView& x, Reduction reduction,
               const RunOptions& options = {});

/// The type of the result in device memory: of a sum float64 or int64, of min and max the type of
/// the elements, of argmax int64.
DataType reduced_type(DataType element, Reduction reduction);

/// The same for a list in the device's memory (prepared_operation.hpp). `result` has room for one
/// element of reduced_type().
PreparedOperation prepare_reduce(Device& device, const ConstArrayView& x, Reduction reduction,
                                 void* result, const RunOptions& options = {});

}  // namespace tilescope
