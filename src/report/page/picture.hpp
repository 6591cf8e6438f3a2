// Pictures as data: curves, rooflines, grids.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tilescope::report {

/// A curve over a linear axis, with one point marked.
struct Curve {
  std::string title;
  std::string x_name, y_name;
  std::vector<std::pair<double, double>> points;  ///< x ascending
  double marked_x = 0.0;
  bool has_mark = false;
  double y_most = 0.0;  ///< top of the axis; 0: the largest y
};

/// A roofline: both axes logarithmic, labelled points.
struct RooflinePlot {
  struct Ceiling {
    std::string name;
    double flops_per_second = 0.0;
  };
  struct Point {
    char label = 'a';
    double intensity = 0.0;  ///< FLOP/B
    double flops_per_second = 0.0;
  };
  double bytes_per_second = 0.0;
  std::vector<Ceiling> ceilings;  ///< at least one; the highest bounds the slope
  std::vector<Point> points;
};

/// The bank of each element of a matrix.
struct Grid {
  struct Cell {
    int bank = -1;        ///< -1: padding
    bool marked = false;  ///< it belongs to the access that the figures are about
  };
  struct Row {
    std::string name;
    std::vector<Cell> cells;
  };
  std::vector<Row> rows;
  std::size_t cell_width = 1;
  bool more_columns = false;  ///< the rows continue beyond the shown cells
  int banks = 32;
};

}  // namespace tilescope::report
