// One access analysed, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tilescope/gpu/access.hpp>

#include "report/steps.hpp"

namespace tilescope::report {

/// As global memory: coalesced or not, sectors, stride, waste, cure.
std::string coalescing_text(const gpu::AccessQuestion& question, const gpu::AccessAnswer& answer);
/// As shared memory: wavefronts, conflict degree, cure.
std::string bank_access_text(const gpu::AccessQuestion& question, const gpu::AccessAnswer& answer);
Steps access_steps(const gpu::AccessQuestion& question, const gpu::AccessAnswer& answer,
                   bool shared);
nlohmann::json access_json(const gpu::AccessQuestion& question, const gpu::AccessAnswer& answer);

}  // namespace tilescope::report
