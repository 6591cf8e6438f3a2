// Transposes a matrix.
#pragma once

#include "tilescope/device.hpp"
#include "tilescope/matrix.hpp"
#include "tilescope/prepared_operation.hpp"
#include "tilescope/run_report.hpp"

namespace tilescope {

/// out(j, i) = in(i, j), for elements of any type; both dense, of one type and order, and not
/// overlapping.
///
///     transpose(*device, dense_view(x, type, rows, columns), dense_view(y, type, columns, rows));
///
/// Errors as saxpb's.
RunReport transpose(Device& device, const ConstMatrixView& in, const MatrixView& out,
                    const RunOptions& options = {});

/// The same for operands in the device's memory (prepared_operation.hpp).
PreparedOperation prepare_transpose(Device& device, const ConstMatrixView& in,
                                    const MatrixView& out, const RunOptions& options = {});

}  // namespace tilescope
