// Axes of plots.
#pragma once

#include <string>
#include <vector>

#include "report/svg/drawing.hpp"

namespace tilescope::report {

/// From values to places in a picture. Linear, or of the logarithms.
struct Scale {
  double first = 0.0, last = 1.0;  ///< values
  double begin = 0.0, end = 1.0;   ///< places
  bool logarithmic = false;

  double at(double value) const;
};

/// About four round values from 0 to `most`, both included in their range.
std::vector<double> round_ticks(double most);

/// "1.5", "48", "65,536"
std::string tick_text(double value);

}  // namespace tilescope::report
