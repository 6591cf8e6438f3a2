// A matrix in the banks of shared memory, drawn.
#pragma once

#include <tilescope/gpu/banks.hpp>

#include "report/page/page.hpp"

namespace tilescope::report {

/// The picture: each element's bank, the marked column of lanes, and the cost of rows and columns.
Page banks_page(const gpu::BankMatrix& matrix);

}  // namespace tilescope::report
