// A matrix with rows and columns exchanged.
#pragma once

#include "tilescope/device.hpp"
#include "tilescope/matrix.hpp"
#include "tilescope/run_report.hpp"

namespace tilescope {

/// out(j, i) = in(i, j), for elements of any type; both dense, of one type and order, and not
/// overlapping. Errors as saxpb's.
RunReport transpose(Device& device, const ConstMatrixView& in, const MatrixView& out,
                    const RunOptions& options = {});

}  // namespace tilescope
