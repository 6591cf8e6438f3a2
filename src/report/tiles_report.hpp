// The tile planner for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <tilescope/gpu/gpu_table.hpp>
#include <tilescope/gpu/tiles.hpp>
#include <vector>

#include "report/steps.hpp"

namespace tilescope::report {

struct TilesContext {
  gpu::Gpu gpu;
  std::optional<MatmulShape> problem;
  std::vector<gpu::TilePlan> plans;
  std::optional<std::size_t> best;
};

std::string tiles_text(const TilesContext& context);
Steps tiles_steps(const TilesContext& context);
nlohmann::json tiles_json(const TilesContext& context);

}  // namespace tilescope::report
