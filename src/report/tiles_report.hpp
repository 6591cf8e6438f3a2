// The tile planner.
#pragma once

#include <optional>
#include <tilescope/gpu/gpu_table.hpp>
#include <tilescope/gpu/tiles.hpp>
#include <vector>

#include "report/page/page.hpp"

namespace tilescope::report {

struct TilesContext {
  gpu::Gpu gpu;
  std::optional<MatmulShape> problem;
  std::vector<gpu::TilePlan> plans;
  std::optional<std::size_t> best;
};

Page tiles_page(const TilesContext& context);

}  // namespace tilescope::report
