#include "report/text/plot_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/format.hpp"

namespace tilescope::report {
namespace {

constexpr int plot_columns = 64;  // of the drawing itself
constexpr int margin = 15;        // for the numbers of the y axis
constexpr int curve_height = 8, roofline_height = 14;

// A grid of characters, row 0 at the bottom.
class Canvas {
 public:
  Canvas(int width, int height)
      : width_(width),
        rows_(static_cast<std::size_t>(height), std::string(static_cast<std::size_t>(width), ' ')) {
  }

  void set(int x, int y, char c) {
    if (x >= 0 && x < width_ && y >= 0 && y < height()) {
      rows_[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)] = c;
    }
  }
  char at(int x, int y) const {
    return rows_[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)];
  }
  /// `text` from (x, y) to the right, cut at the border.
  void write(int x, int y, std::string_view text) {
    for (const char c : text) set(x++, y, c);
  }
  int height() const { return static_cast<int>(rows_.size()); }

  /// Lines from the top, each with the label of its row.
  template <typename Label>
  std::string text(const Label& label) const {
    std::string result;
    for (int y = height() - 1; y >= 0; --y) {
      std::string line =
          fmt::format("{:>{}} |{}", label(y), margin - 2, rows_[static_cast<std::size_t>(y)]);
      line.erase(line.find_last_not_of(' ') + 1);
      result += line + '\n';
    }
    return result;
  }

 private:
  int width_;
  std::vector<std::string> rows_;
};

std::string axis_line() {
  return std::string(margin - 1, ' ') + '+' + std::string(plot_columns, '-') + '\n';
}

// Texts centred below their plot_columns, as far as there is room.
std::string below(const std::vector<std::pair<int, std::string>>& labels) {
  std::string line(margin + plot_columns, ' ');
  std::size_t free_from = 0;
  for (const auto& [column, label] : labels) {
    const auto centre = static_cast<std::size_t>(margin + column);
    std::size_t start = centre >= label.size() / 2 ? centre - label.size() / 2 : 0;
    start = std::min(start, line.size() - std::min(line.size(), label.size()));
    if (start < free_from || start + label.size() > line.size()) continue;
    line.replace(start, label.size(), label);
    free_from = start + label.size() + 1;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

std::string axis_number(double value) {
  return value == std::floor(value) ? format_fixed(value, 0) : fmt::format("{:.3g}", value);
}

}  // namespace

std::string draw(const Curve& curve) {
  if (curve.points.empty()) return {};
  double top = curve.y_most;
  for (const auto& [x, y] : curve.points) top = std::max(top, y);
  if (!(top > 0.0)) top = 1.0;
  const double first = curve.points.front().first;
  const double last = curve.points.back().first;
  const double span = last > first ? last - first : 1.0;
  const auto column_of = [&](double x) {
    return std::clamp(static_cast<int>((x - first) / span * (plot_columns - 1) + 0.5), 0,
                      plot_columns - 1);
  };
  Canvas canvas(plot_columns, curve_height);
  std::size_t next = 0;
  for (int column = 0; column < plot_columns; ++column) {
    // The last point at or before this column: the curve is a staircase.
    while (next + 1 < curve.points.size() && column_of(curve.points[next + 1].first) <= column) {
      ++next;
    }
    const bool marked = curve.has_mark && column == column_of(curve.marked_x);
    // The marked column shows the marked value itself, not its column's last value.
    double y = curve.points[next].second;
    if (marked) {
      for (const auto& point : curve.points) {
        if (point.first <= curve.marked_x) y = point.second;
      }
    }
    const int filled = static_cast<int>(std::lround(y / top * curve_height));
    for (int row = 0; row < filled; ++row) canvas.set(column, row, marked ? 'O' : '#');
    if (marked && filled == 0) canvas.set(column, 0, 'o');
  }
  std::string text = curve.title + '\n';
  text += canvas.text([&](int row) -> std::string {
    if (row == curve_height - 1) return axis_number(top);
    if (row == curve_height / 2 - 1) return axis_number(top / 2);
    return {};
  });
  text += axis_line();
  std::vector<std::pair<int, std::string>> labels;
  for (int quarter = 0; quarter <= 4; ++quarter) {
    const double x = first + span * quarter / 4;
    labels.emplace_back(column_of(x), axis_number(std::round(x)));
  }
  text += below(labels);
  text += fmt::format("{:>{}}{} (up: {}{})\n", "", margin, curve.x_name, curve.y_name,
                      curve.has_mark ? "; O: this kernel" : "");
  return text;
}

std::string draw(const RooflinePlot& plot) {
  double peak = 0.0, lowest_rate = 1e300;
  for (const auto& ceiling : plot.ceilings) {
    peak = std::max(peak, ceiling.flops_per_second);
    lowest_rate = std::min(lowest_rate, ceiling.flops_per_second);
  }
  const auto roof = [&](double intensity) {
    return std::min(peak, intensity * plot.bytes_per_second);
  };
  // Whole decades that hold the ridge and all points.
  const double ridge = peak / plot.bytes_per_second;
  double least_x = ridge / 10.0, most_x = ridge * 10.0;
  for (const auto& point : plot.points) {
    least_x = std::min(least_x, point.intensity);
    most_x = std::max(most_x, point.intensity);
    lowest_rate = std::min(lowest_rate, point.flops_per_second);
  }
  const double x_low = std::floor(std::log10(least_x)), x_high = std::ceil(std::log10(most_x));
  const double y_high = std::ceil(std::log10(peak));
  const double y_low = std::floor(std::log10(std::min(lowest_rate, roof(std::pow(10.0, x_low)))));
  const auto column_of = [&](double intensity) {
    return static_cast<int>(
        std::lround((std::log10(intensity) - x_low) / (x_high - x_low) * (plot_columns - 1)));
  };
  const auto row_of = [&](double rate) {
    return static_cast<int>(
        std::lround((std::log10(rate) - y_low) / (y_high - y_low) * (roofline_height - 1)));
  };
  Canvas canvas(plot_columns, roofline_height);
  for (int column = 0; column < plot_columns; ++column) {
    const double x = std::pow(10.0, x_low + (x_high - x_low) * column / (plot_columns - 1));
    if (x * plot.bytes_per_second < peak) canvas.set(column, row_of(roof(x)), '/');
  }
  for (const auto& ceiling : plot.ceilings) {
    const int row = row_of(ceiling.flops_per_second);
    const int from = column_of(ceiling.flops_per_second / plot.bytes_per_second);
    for (int column = std::max(0, from); column < plot_columns; ++column) {
      canvas.set(column, row, '-');
    }
    const int start = plot_columns - static_cast<int>(ceiling.name.size()) - 1;
    if (start > from) canvas.write(start, row, ceiling.name);
  }
  for (const auto& point : plot.points) {
    const int row = std::clamp(row_of(point.flops_per_second), 0, roofline_height - 1);
    int column = column_of(point.intensity);
    // Points at one place stand side by side.
    while (column < plot_columns - 1 &&
           std::isalpha(static_cast<unsigned char>(canvas.at(std::max(0, column), row))) != 0) {
      ++column;
    }
    canvas.set(column, row, point.label);
  }
  std::string text = canvas.text([&](int row) -> std::string {
    for (double decade = y_low; decade <= y_high; ++decade) {
      if (row_of(std::pow(10.0, decade)) == row) {
        return format_rate(std::pow(10.0, decade), "FLOP/s");
      }
    }
    return {};
  });
  text += axis_line();
  std::vector<std::pair<int, std::string>> labels;
  for (double decade = x_low; decade <= x_high; ++decade) {
    const double x = std::pow(10.0, decade);
    labels.emplace_back(column_of(x), fmt::format("{:g}", x));
  }
  return text + below(labels) +
         fmt::format("{:>{}}arithmetic intensity, FLOP/B (both axes logarithmic)\n", "", margin);
}

std::string draw(const Grid& grid) {
  constexpr std::size_t widest = 70;
  std::string text;
  for (const Grid::Row& row : grid.rows) {
    text += fmt::format("{:>5} |", row.name);
    const std::size_t shown = std::min(row.cells.size(), widest / grid.cell_width);
    for (const Grid::Cell& cell : std::span(row.cells).first(shown)) {
      const std::string bank = cell.bank < 0 ? "." : std::to_string(cell.bank);
      text += cell.marked ? fmt::format("*{:>{}}", bank, grid.cell_width - 1)
                          : fmt::format("{:>{}}", bank, grid.cell_width);
    }
    text += grid.more_columns || shown < row.cells.size() ? " ...\n" : "\n";
  }
  return text;
}

}  // namespace tilescope::report
