// A matrix in the banks of shared memory, drawn.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tilescope/gpu/banks.hpp>

#include "report/steps.hpp"

namespace tilescope::report {

/// The picture: each element's bank, the column of lanes marked, and what rows and columns cost.
std::string banks_text(const gpu::BankMatrix& matrix);
Steps banks_steps(const gpu::BankMatrix& matrix);
nlohmann::json banks_json(const gpu::BankMatrix& matrix);

}  // namespace tilescope::report
