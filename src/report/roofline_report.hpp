// A roofline with labelled points.
#pragma once

#include <string>
#include <tilescope/gpu/roofline.hpp>
#include <vector>

#include "report/page/page.hpp"

namespace tilescope::report {

struct RooflinePoint {
  std::string name;
  double flops = 0.0, bytes = 0.0;         ///< 0 if only the intensity is known
  double intensity = 0.0;                  ///< FLOP/B
  double measured_flops_per_second = 0.0;  ///< 0: not measured
};

struct RooflineContext {
  std::string machine;
  double bytes_per_second = 0.0;
  std::vector<RooflinePlot::Ceiling> ceilings;  ///< the first one judges the points
  std::vector<RooflinePoint> points;
};

Page roofline_page(const RooflineContext& context);

}  // namespace tilescope::report
