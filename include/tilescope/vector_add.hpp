// C = A + B, element by element.
#pragma once

#include "tilescope/array.hpp"
#include "tilescope/device.hpp"
#include "tilescope/prepared_operation.hpp"
#include "tilescope/run_report.hpp"

namespace tilescope {

/// c = a + b for float32 or float64 lists of one type and length.
///
///     vector_add(*device, a, b, c);
///
/// Errors as saxpb's.
RunReport vector_add(Device& device, const ConstArrayView& a, const ConstArrayView& b,
                     const ArrayView& c, const RunOptions& options = {});

/// The same for operands in the device's memory (prepared_operation.hpp).
PreparedOperation prepare_vector_add(Device& device, const ConstArrayView& a,
                                     const ConstArrayView& b, const ArrayView& c,
                                     const RunOptions& options = {});

}  // namespace tilescope
