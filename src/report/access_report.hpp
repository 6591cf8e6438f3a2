// The cost of one warp's access, given as an expression.
#pragma once

#include <tilescope/gpu/access.hpp>

#include "report/page/page.hpp"

namespace tilescope::report {

/// An access to global memory: coalesced or not, sectors, stride, waste, cure.
Page coalescing_page(const gpu::AccessQuestion& question, const gpu::AccessAnswer& answer);
/// An access to shared memory: wavefronts, conflict degree, cure.
Page bank_access_page(const gpu::AccessQuestion& question, const gpu::AccessAnswer& answer);

}  // namespace tilescope::report
