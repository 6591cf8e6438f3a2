// Lines of several series.
#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "report/svg/axis.hpp"
#include "report/svg/drawing.hpp"
#include "report/svg/plots.hpp"

namespace tilescope::report {

std::string draw_svg(const LineChart& chart) {
  constexpr double width = 640.0, height = 300.0, left = 64.0, right = 620.0, top = 44.0,
                   bottom = 250.0;
  double first = 0.0, last = 0.0;
  std::string said;
  for (const LineChart::Series& series : chart.series) {
    for (const auto& [x, y] : series.points) {
      first = first == 0.0 ? x : std::min(first, x);
      last = std::max(last, x);
    }
    if (series.points.empty()) continue;
    const auto& [x, y] = series.points.back();
    said += fmt::format("; {}: {:.0f}% at {}", series.name, 100.0 * y, tick_text(x));
  }
  if (last <= first) return {};
  const Scale x{first, last, left, right, true};
  const Scale y{0.0, 1.0, bottom, top, false};
  Drawing drawing(width, height, chart.title + said);
  for (const int percent : {0, 25, 50, 75, 100}) {
    const double up = y.at(percent / 100.0);
    drawing.line(left, up, right, up, percent == 0 ? "axis" : "grid");
    drawing.words(left - 6, up + 4, fmt::format("{}%", percent), "end faint");
  }
  for (double tick = first; tick <= last * 1.001; tick *= 4.0) {
    drawing.line(x.at(tick), top, x.at(tick), bottom, "grid");
    drawing.words(x.at(tick), bottom + 17, tick_text(tick), "middle faint");
  }
  double legend = left;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const LineChart::Series& series = chart.series[i];
    const std::string look = fmt::format("line s{}", i);
    std::string steps;
    for (const auto& [across, up] : series.points) {
      steps += fmt::format("{}{} {}", steps.empty() ? "M" : "L", size_text(x.at(across)),
                           size_text(y.at(std::clamp(up, 0.0, 1.0))));
    }
    drawing.path(steps, look);
    drawing.path(fmt::format("M{} 12H{}", size_text(legend), size_text(legend + 22.0)), look);
    drawing.words(legend + 27, 16, series.name, "faint");
    legend += 45.0 + 6.6 * static_cast<double>(series.name.size());
  }
  drawing.words(left, 36, chart.y_name, "faint");
  drawing.words((left + right) / 2, bottom + 36, chart.x_name, "middle faint");
  return drawing.svg();
}

}  // namespace tilescope::report
