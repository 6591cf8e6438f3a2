#include "report/roofline_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/format.hpp"
#include "report/plot.hpp"

namespace tilescope::report {
namespace {

gpu::Roofline roof_of(const RooflineContext& context) {
  return gpu::make_roofline(context.bytes_per_second, context.ceilings.front().flops_per_second);
}

std::string peak_percent(double share) {
  return 100.0 * share < 1.0 ? fmt::format("{:.2f}%", 100.0 * share)
                             : fmt::format("{:.1f}%", 100.0 * share);
}

char label_of(std::size_t index) {
  return static_cast<char>(index < 26 ? 'a' + static_cast<int>(index)
                                      : 'A' + static_cast<int>(index - 26) % 26);
}

}  // namespace

std::string roofline_text(const RooflineContext& context) {
  const gpu::Roofline roof = roof_of(context);
  std::string text =
      fmt::format("Roofline of {}: {}, {} {};\nridge at {:.4g} FLOP/B\n\n", context.machine,
                  format_rate(roof.bytes_per_second, "B/s"), context.ceilings.front().name,
                  format_rate(roof.flops_per_second, "FLOP/s"), roof.ridge());
  RooflinePlot plot{.bytes_per_second = context.bytes_per_second, .ceilings = {}, .points = {}};
  for (const RooflineCeiling& ceiling : context.ceilings) {
    plot.ceilings.push_back({ceiling.name, ceiling.flops_per_second});
  }
  for (std::size_t i = 0; i < context.points.size(); ++i) {
    const RooflinePoint& point = context.points[i];
    plot.points.push_back({label_of(i), point.name, point.intensity,
                           point.measured_flops_per_second > 0.0
                               ? point.measured_flops_per_second
                               : roof.attainable(point.intensity)});
  }
  text += draw(plot) + '\n';
  text += fmt::format("    {:<25} {:>7} {:>12} {:>7} {:<8} {:>12}\n", "", "FLOP/B", "attainable",
                      "of peak", "bound by", "measured");
  for (std::size_t i = 0; i < context.points.size(); ++i) {
    const RooflinePoint& point = context.points[i];
    const double rate = roof.attainable(point.intensity);
    text += fmt::format("  {} {:<25} {:>7.4g} {:>12} {:>7} {:<8} {:>12}\n", label_of(i),
                        point.name.substr(0, 25), point.intensity, format_rate(rate, "FLOP/s"),
                        peak_percent(rate / roof.flops_per_second),
                        roof.memory_bound(point.intensity) ? "memory" : "compute",
                        point.measured_flops_per_second > 0.0
                            ? format_rate(point.measured_flops_per_second, "FLOP/s")
                            : "-");
  }
  return text;
}

Steps roofline_steps(const RooflineContext& context) {
  const gpu::Roofline roof = roof_of(context);
  Steps steps;
  steps.add("Ridge",
            fmt::format("{} / {} = {:.4g} FLOP/B", format_rate(roof.flops_per_second, "FLOP/s"),
                        format_rate(roof.bytes_per_second, "B/s"), roof.ridge()));
  for (const RooflinePoint& point : context.points) {
    if (point.bytes > 0.0) {
      steps.add(point.name, fmt::format("{:.6g} operations / {:.6g} B = {:.4g} FLOP/B", point.flops,
                                        point.bytes, point.intensity));
    } else {
      steps.add(point.name, fmt::format("{:.4g} FLOP/B", point.intensity));
    }
    const double from_memory = point.intensity * roof.bytes_per_second;
    steps.add("  memory allows", fmt::format("{:.4g} FLOP/B x {} = {}", point.intensity,
                                             format_rate(roof.bytes_per_second, "B/s"),
                                             format_rate(from_memory, "FLOP/s")));
    for (const RooflineCeiling& ceiling : context.ceilings) {
      steps.add(
          fmt::format("  against {}", ceiling.name),
          fmt::format("min({}, {}) = {}, {} of it", format_rate(ceiling.flops_per_second, "FLOP/s"),
                      format_rate(from_memory, "FLOP/s"),
                      format_rate(std::min(from_memory, ceiling.flops_per_second), "FLOP/s"),
                      peak_percent(std::min(1.0, from_memory / ceiling.flops_per_second))));
    }
    if (point.intensity > 0.0) {
      steps.add("  bandwidth for the full rate",
                fmt::format("{} / {:.4g} FLOP/B = {}", format_rate(roof.flops_per_second, "FLOP/s"),
                            point.intensity,
                            format_rate(roof.bandwidth_for_peak(point.intensity), "B/s")));
    }
  }
  return steps;
}

nlohmann::json roofline_json(const RooflineContext& context) {
  const gpu::Roofline roof = roof_of(context);
  nlohmann::json points = nlohmann::json::array(), ceilings = nlohmann::json::array();
  for (const RooflinePoint& point : context.points) {
    const double rate = roof.attainable(point.intensity);
    nlohmann::json json{{"name", point.name},
                        {"intensity_flops_per_byte", point.intensity},
                        {"attainable_flops_per_second", rate},
                        {"share_of_peak", rate / roof.flops_per_second},
                        {"bound_by", roof.memory_bound(point.intensity) ? "memory" : "compute"}};
    json["flops"] = point.bytes > 0.0 ? nlohmann::json(point.flops) : nlohmann::json();
    json["bytes"] = point.bytes > 0.0 ? nlohmann::json(point.bytes) : nlohmann::json();
    json["measured_flops_per_second"] = point.measured_flops_per_second > 0.0
                                            ? nlohmann::json(point.measured_flops_per_second)
                                            : nlohmann::json();
    points.push_back(std::move(json));
  }
  for (const RooflineCeiling& ceiling : context.ceilings) {
    ceilings.push_back({{"name", ceiling.name}, {"flops_per_second", ceiling.flops_per_second}});
  }
  return {{"machine", context.machine},
          {"bandwidth_bytes_per_second", roof.bytes_per_second},
          {"peak_flops_per_second", roof.flops_per_second},
          {"ridge_flops_per_byte", roof.ridge()},
          {"ceilings", std::move(ceilings)},
          {"points", std::move(points)}};
}

}  // namespace tilescope::report
