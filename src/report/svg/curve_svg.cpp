// Curves and rooflines.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "report/svg/axis.hpp"
#include "report/svg/drawing.hpp"
#include "report/svg/plots.hpp"

namespace tilescope::report {
namespace {

constexpr double plot_width = 640.0, left_edge = 64.0, right_edge = 620.0, top_edge = 24.0;

void draw_x_axis(Drawing& drawing, double from, double y, std::string_view name) {
  drawing.line(from, y, right_edge, y, "axis");
  drawing.words((left_edge + right_edge) / 2, y + 36, name, "middle faint");
}

/// The value of the staircase at `x`.
double value_at(const Curve& curve, double x) {
  double y = curve.points.front().second;
  for (const auto& point : curve.points) {
    if (point.first <= x) y = point.second;
  }
  return y;
}

void draw_mark(Drawing& drawing, const Curve& curve, const Scale& x, const Scale& y) {
  const double value = value_at(curve, curve.marked_x);
  const double across = x.at(curve.marked_x), up = y.at(value);
  drawing.line(across, up, across, y.begin, "mark");
  drawing.disc(across, up, 5, "mark");
  const bool is_right = across > (left_edge + right_edge) / 2;
  drawing.words(across + (is_right ? -9 : 9), std::max(up - 8, top_edge + 16),
                fmt::format("this kernel: {} at {}", tick_text(value), tick_text(curve.marked_x)),
                is_right ? "strong halo end" : "strong halo");
}

}  // namespace

std::string draw_svg(const Curve& curve) {
  constexpr double height = 230.0, bottom = 180.0;
  if (curve.points.empty()) return {};
  double most = std::max(curve.y_most, 1.0);
  for (const auto& point : curve.points) most = std::max(most, point.second);
  const Scale x{curve.points.front().first, curve.points.back().first, left_edge, right_edge};
  const Scale y{0.0, most, bottom, top_edge};
  Drawing drawing(
      plot_width, height,
      fmt::format("{}: {} over {}{}", curve.title, curve.y_name, curve.x_name,
                  curve.has_mark ? fmt::format("; this kernel has {} at {}",
                                               value_at(curve, curve.marked_x), curve.marked_x)
                                 : ""));
  std::vector<double> ticks = round_ticks(most);
  for (const double tick : ticks) {
    drawing.line(left_edge, y.at(tick), right_edge, y.at(tick), "grid");
    drawing.words(left_edge - 6, y.at(tick) + 4, tick_text(tick), "end faint");
  }
  std::string steps = fmt::format("M{} {}", size_text(x.at(x.first)), size_text(bottom));
  for (const auto& [across, up] : curve.points) {
    steps += fmt::format("H{}V{}", size_text(x.at(across)), size_text(y.at(up)));
  }
  drawing.path(steps + fmt::format("V{}Z", size_text(bottom)), "area");
  for (int quarter = 0; quarter <= 4; ++quarter) {
    const double value = std::round(x.first + (x.last - x.first) * quarter / 4);
    drawing.words(x.at(value), bottom + 17, tick_text(value),
                  quarter == 4 ? "end faint" : "middle faint");
  }
  drawing.words(left_edge, 14, curve.y_name, "faint");
  draw_x_axis(drawing, left_edge, bottom, curve.x_name);
  if (curve.has_mark) draw_mark(drawing, curve, x, y);
  return drawing.svg();
}

namespace {

/// Whole decades that hold the ridge, all points and their roofs.
struct RooflineScales {
  Scale x, y;
};

RooflineScales scales_of(const RooflinePlot& plot, double peak, double bottom) {
  const double ridge = peak / plot.bytes_per_second;
  double least_x = ridge / 10.0, most_x = ridge * 10.0, least_y = peak;
  for (const auto& ceiling : plot.ceilings) least_y = std::min(least_y, ceiling.flops_per_second);
  for (const auto& point : plot.points) {
    if (point.intensity > 0.0) least_x = std::min(least_x, point.intensity);
    most_x = std::max(most_x, point.intensity);
    if (point.flops_per_second > 0.0) least_y = std::min(least_y, point.flops_per_second);
  }
  const auto decade = [](double value, bool up) {
    const double exponent = std::log10(value);
    return std::pow(10.0, up ? std::ceil(exponent) : std::floor(exponent));
  };
  const double x_low = decade(least_x, false);
  least_y = std::min(least_y, x_low * plot.bytes_per_second);
  return {{x_low, decade(most_x, true), left_edge + 24, right_edge, true},
          {decade(least_y, false), decade(peak, true), bottom, top_edge, true}};
}

void draw_decades(Drawing& drawing, const RooflineScales& scales, double bottom) {
  const auto& [x, y] = scales;
  for (double tick = x.first; tick <= x.last * 1.001; tick *= 10.0) {
    drawing.line(x.at(tick), top_edge, x.at(tick), bottom, "grid");
    drawing.words(x.at(tick), bottom + 17, fmt::format("{:g}", tick), "middle faint");
  }
  for (double tick = y.first; tick <= y.last * 1.001; tick *= 10.0) {
    drawing.line(x.begin, y.at(tick), right_edge, y.at(tick), "grid");
    drawing.words(x.begin - 6, y.at(tick) + 4, format_rate(tick, "FLOP/s"), "end faint small");
  }
}

}  // namespace

std::string draw_svg(const RooflinePlot& plot) {
  constexpr double height = 380.0, bottom = 330.0;
  double peak = 0.0;
  for (const auto& ceiling : plot.ceilings) peak = std::max(peak, ceiling.flops_per_second);
  const RooflineScales scales = scales_of(plot, peak, bottom);
  const auto& [x, y] = scales;
  std::string points;
  for (const auto& point : plot.points) {
    points += fmt::format("; {} at {:.3g} FLOP/B, {}", point.label, point.intensity,
                          format_rate(point.flops_per_second, "FLOP/s"));
  }
  Drawing drawing(
      plot_width, height,
      fmt::format("Roofline: {} and at most {}{}", format_rate(plot.bytes_per_second, "B/s"),
                  format_rate(peak, "FLOP/s"), points));
  draw_decades(drawing, scales, bottom);
  draw_x_axis(drawing, x.begin, bottom, "arithmetic intensity, FLOP/B");
  const double ridge = peak / plot.bytes_per_second;
  drawing.line(x.at(x.first), y.at(x.first * plot.bytes_per_second), x.at(ridge), y.at(peak),
               "roof");
  for (const auto& ceiling : plot.ceilings) {
    const double from = ceiling.flops_per_second / plot.bytes_per_second;
    const double up = y.at(ceiling.flops_per_second);
    drawing.line(x.at(from), up, right_edge, up,
                 ceiling.flops_per_second == peak ? "roof" : "roof thin");
    drawing.words(right_edge, up - 5, ceiling.name, "end faint halo");
  }
  for (const auto& point : plot.points) {
    if (!(point.intensity > 0.0) || !(point.flops_per_second > 0.0)) continue;
    const double across = x.at(point.intensity), up = y.at(point.flops_per_second);
    drawing.line(across, up, across, y.at(std::min(peak, point.intensity * plot.bytes_per_second)),
                 "room");
    drawing.disc(across, up, 4.5, "point");
    drawing.words(across + 7, up + 4, std::string(1, point.label), "strong halo");
  }
  return drawing.svg();
}

}  // namespace tilescope::report
