// Plots in a terminal of 80 columns, in plain ASCII.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tilescope::report {

/// A curve over a linear axis, as columns of '#', with one point marked.
struct Curve {
  std::string title;
  std::string x_name, y_name;
  std::vector<std::pair<double, double>> points;  ///< x ascending
  double marked_x = 0.0;                          ///< drawn as a column of 'O'
  bool has_mark = false;
  double y_most = 0.0;  ///< top of the axis; 0: the largest y
  int height = 8;
};
std::string draw(const Curve& curve);

/// A roofline: both axes logarithmic, labelled points.
struct RooflinePlot {
  struct Ceiling {
    std::string name;
    double flops_per_second = 0.0;
  };
  struct Point {
    char label = 'a';
    std::string name;
    double intensity = 0.0;         ///< FLOP/B
    double flops_per_second = 0.0;  ///< 0: on the roof
  };
  double bytes_per_second = 0.0;
  std::vector<Ceiling> ceilings;  ///< at least one; the highest bounds the slope
  std::vector<Point> points;
  int height = 14;
};
std::string draw(const RooflinePlot& plot);

}  // namespace tilescope::report
