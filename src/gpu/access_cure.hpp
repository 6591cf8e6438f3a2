// Advice for an access that wastes bandwidth or conflicts, in words.
#pragma once

#include <string>
#include <tilescope/gpu/access.hpp>

#include "expression/polynomial.hpp"

namespace tilescope::gpu {

/// analyse_access without the cures; `index` becomes the access, multiplied out.
AccessAnswer count_access(const AccessQuestion& question, expression::Polynomial& index);

/// Advice for global memory; empty if none is needed. `index`: as above.
std::string global_cure(const AccessQuestion& question, const AccessAnswer& answer,
                        const expression::Polynomial& index);

/// Advice for shared memory; empty without a conflict.
std::string bank_cure(const AccessQuestion& question, const AccessAnswer& answer);

}  // namespace tilescope::gpu
