// The pictures of picture.hpp and figure.hpp in SVG.
#pragma once

#include <string>

#include "report/page/figure.hpp"
#include "report/page/picture.hpp"

namespace tilescope::report {

std::string draw_svg(const Curve& curve);
std::string draw_svg(const RooflinePlot& plot);
std::string draw_svg(const Grid& grid);
std::string draw_svg(const BarChart& chart);
std::string draw_svg(const TimeLine& line);
std::string draw_svg(const TilePicture& tile);
std::string draw_svg(const MemoryLevels& levels);
std::string draw_svg(const BlockWarps& block);
std::string draw_svg(const LineChart& chart);
std::string draw_svg(const RaceScene& scene);
std::string draw_svg(const AsyncScene& scene);
/// The stamps that the frames below share; a page has them once.
std::string lane_stamps_svg();
/// One frame: the lanes above, and below them the banks or sectors that they reach.
std::string draw_svg(const WarpAccess& access, const WarpAccess::Frame& frame);

}  // namespace tilescope::report
