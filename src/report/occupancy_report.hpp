// Occupancy: the answer, the three plots "impact of varying ...", the steps.
#pragma once

#include <string_view>
#include <tilescope/gpu/gpu_table.hpp>
#include <tilescope/gpu/occupancy.hpp>

#include "report/page/page.hpp"

namespace tilescope::report {

struct OccupancyContext {
  std::string kernel, note;  ///< "matmul/tiled_16"; either may be empty
  gpu::BlockNeeds needs;
  gpu::Occupancy result;
  bool with_curves = true;
};

Page occupancy_page(const OccupancyContext& context, const gpu::Gpu& gpu);

}  // namespace tilescope::report
