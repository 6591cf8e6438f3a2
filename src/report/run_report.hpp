// The page of `run`: the launch, its time, and the first elements of every array.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tilescope/run.hpp>

namespace tilescope::report {

/// "4 x 2", without trailing extents of 1.
std::string extents_text(const Dim3& extents);

std::string run_text(const RunResult& result);
nlohmann::json run_json(const RunResult& result);

}  // namespace tilescope::report
