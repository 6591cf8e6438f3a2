// The kinds of memory and what they cost, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tilescope/gpu/memories.hpp>
#include <vector>

namespace tilescope::report {

std::string memories_text(const std::string& machine, const std::vector<gpu::LevelCost>& costs);
nlohmann::json memories_json(const std::string& machine, const std::vector<gpu::LevelCost>& costs);

}  // namespace tilescope::report
