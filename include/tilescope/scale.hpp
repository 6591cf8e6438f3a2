// Multiplies a picture or matrix by a number.
#pragma once

#include "tilescope/device.hpp"
#include "tilescope/matrix.hpp"
#include "tilescope/prepared_operation.hpp"
#include "tilescope/run_report.hpp"

namespace tilescope {

/// out = factor * in, float32 or float64, dense, of one type, shape and order; `factor` is rounded
/// to their type.
///
///     scale(*device, 10.0, in, out);
///
/// Errors as saxpb's.
RunReport scale(Device& device, double factor, const ConstMatrixView& in, const MatrixView& out,
                const RunOptions& options = {});

/// The same for operands in the device's memory (prepared_operation.hpp).
PreparedOperation prepare_scale(Device& device, double factor, const ConstMatrixView& in,
                                const MatrixView& out, const RunOptions& options = {});

}  // namespace tilescope
