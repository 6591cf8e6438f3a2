// Pictures in plain ASCII for a terminal of 80 columns.
#pragma once

#include <string>

#include "report/page/picture.hpp"

namespace tilescope::report {

/// Columns of '#', the marked one of 'O'.
std::string draw(const Curve& curve);
std::string draw(const RooflinePlot& plot);
std::string draw(const Grid& grid);

}  // namespace tilescope::report
