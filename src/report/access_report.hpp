// What one warp's access costs, given as an expression.
#pragma once

#include <tilescope/gpu/access.hpp>

#include "report/page/page.hpp"

namespace tilescope::report {

/// As global memory: coalesced or not, sectors, stride, waste, cure.
Page coalescing_page(const gpu::AccessQuestion& question, const gpu::AccessAnswer& answer);
/// As shared memory: wavefronts, conflict degree, cure.
Page bank_access_page(const gpu::AccessQuestion& question, const gpu::AccessAnswer& answer);

}  // namespace tilescope::report
