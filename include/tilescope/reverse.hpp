// Reverses a list.
#pragma once

#include "tilescope/array.hpp"
#include "tilescope/device.hpp"
#include "tilescope/prepared_operation.hpp"
#include "tilescope/run_report.hpp"

namespace tilescope {

/// y[i] = x[n - 1 - i], for elements of any type; x and y have one length and must not overlap.
///
///     reverse(*device, x, y);
///
/// Errors as saxpb's.
RunReport reverse(Device& device, const ConstArrayView& x, const ArrayView& y,
                  const RunOptions& options = {});

/// The same for operands in the device's memory (prepared_operation.hpp).
PreparedOperation prepare_reverse(Device& device, const ConstArrayView& x, const ArrayView& y,
                                  const RunOptions& options = {});

}  // namespace tilescope
