// A roofline with labelled points, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tilescope/gpu/roofline.hpp>
#include <vector>

#include "report/steps.hpp"

namespace tilescope::report {

struct RooflinePoint {
  std::string name;
  double flops = 0.0, bytes = 0.0;         ///< 0 where only the intensity is known
  double intensity = 0.0;                  ///< FLOP/B
  double measured_flops_per_second = 0.0;  ///< 0: not measured
};

struct RooflineCeiling {
  std::string name;
  double flops_per_second = 0.0;
};

struct RooflineContext {
  std::string machine;
  double bytes_per_second = 0.0;
  std::vector<RooflineCeiling> ceilings;  ///< the first one judges the points
  std::vector<RooflinePoint> points;
};

std::string roofline_text(const RooflineContext& context);
Steps roofline_steps(const RooflineContext& context);
nlohmann::json roofline_json(const RooflineContext& context);

}  // namespace tilescope::report
