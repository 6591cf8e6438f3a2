// A roofline with labelled points.
#pragma once

#include <string>
#include <tilescope/gpu/roofline.hpp>
#include <vector>

#include "operations/registry.hpp"
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

/// The point of a computation with these totals.
RooflinePoint counted_point(std::string name, double flops, double bytes);
/// Adds the operation with ideal reuse (every byte moved once), and for matmul also with the reuse
/// of its tiles. Throws Error(usage) as make_operation().
void add_operation(std::vector<RooflinePoint>& points, const std::string& operation,
                   const ProblemOptions& problem);
/// Adds the results in a file of `ladder --json` or `explain --json`. Throws Error(bad_input) for
/// another file.
void add_results(std::vector<RooflinePoint>& points, const std::string& path);

Page roofline_page(const RooflineContext& context);

}  // namespace tilescope::report
