// Occupancy for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tilescope/gpu/gpu_table.hpp>
#include <tilescope/gpu/occupancy.hpp>

#include "report/steps.hpp"

namespace tilescope::report {

/// The answer in a few lines; `what` names the kernel ("matmul/tiled_16"), may be empty.
std::string occupancy_text(const std::string& what, const gpu::BlockNeeds& needs,
                           const gpu::Occupancy& result, const gpu::Gpu& gpu);
/// The three plots "impact of varying ...".
std::string occupancy_curves(const gpu::BlockNeeds& needs, const gpu::Gpu& gpu);
Steps occupancy_steps(const gpu::BlockNeeds& needs, const gpu::Occupancy& result,
                      const gpu::Gpu& gpu);
nlohmann::json occupancy_json(const std::string& what, const gpu::BlockNeeds& needs,
                              const gpu::Occupancy& result, const gpu::Gpu& gpu);

}  // namespace tilescope::report
