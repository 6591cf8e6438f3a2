#include "report/roofline_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"

namespace tilescope::report {
namespace {

std::string peak_percent(double share) {
  return fmt::format("{:.{}f}%", 100.0 * share, 100.0 * share < 1.0 ? 2 : 1);
}

char label_of(std::size_t index) {
  return static_cast<char>(index < 26 ? 'a' + static_cast<int>(index)
                                      : 'A' + static_cast<int>(index - 26) % 26);
}

Record point_record(const RooflinePoint& point, const gpu::Roofline& roof) {
  const double rate = roof.attainable(point.intensity);
  const bool is_counted = point.bytes > 0.0;
  return Record{{"name", point.name},
                {"intensity_flops_per_byte", point.intensity},
                {"attainable_flops_per_second", rate},
                {"share_of_peak", rate / roof.flops_per_second},
                {"bound_by", roof.memory_bound(point.intensity) ? "memory" : "compute"},
                {"flops", is_counted ? Value(point.flops) : Value()},
                {"bytes", is_counted ? Value(point.bytes) : Value()},
                {"measured_flops_per_second", known(point.measured_flops_per_second)}}
      .let("of_peak", peak_percent(rate / roof.flops_per_second))
      .let("short_name", point.name.substr(0, 25))
      .let("needed", point.intensity > 0.0 ? roof.bandwidth_for_peak(point.intensity) : 0.0)
      .let("from_memory", point.intensity * roof.bytes_per_second)
      .let("bandwidth", roof.bytes_per_second)
      .let("peak", roof.flops_per_second);
}

void add_steps(Page& page, const RooflineContext& context, const RooflinePoint& point,
               Record record) {
  page.step(point.name,
            point.bytes > 0.0
                ? "{flops:.6g} operations / {bytes:.6g} B = {intensity_flops_per_byte} FLOP/B"
                : "{intensity_flops_per_byte} FLOP/B",
            record);
  page.step("  memory allows",
            "{intensity_flops_per_byte} FLOP/B x {bandwidth:rate} = {from_memory:flops}", record);
  const double from_memory = point.intensity * context.bytes_per_second;
  for (const auto& [name, flops_per_second] : context.ceilings) {
    record.let("ceiling", flops_per_second)
        .let("least", std::min(from_memory, flops_per_second))
        .let("of_it", peak_percent(std::min(1.0, from_memory / flops_per_second)));
    page.step("  against " + name,
              "min({ceiling:flops}, {from_memory:flops}) = {least:flops}, {of_it} of it", record);
  }
  if (point.intensity <= 0.0) return;
  page.step("  bandwidth for the full rate",
            "{peak:flops} / {intensity_flops_per_byte} FLOP/B = {needed:rate}", record);
}

}  // namespace

Page roofline_page(const RooflineContext& context) {
  const RooflinePlot::Ceiling& peak = context.ceilings.front();
  const gpu::Roofline roof = gpu::make_roofline(context.bytes_per_second, peak.flops_per_second);
  Page page("roofline");
  page.data = {{"machine", context.machine},
               {"bandwidth_bytes_per_second", roof.bytes_per_second},
               {"peak_flops_per_second", roof.flops_per_second},
               {"ridge_flops_per_byte", roof.ridge()}};
  page.data.let("peak", peak.name);
  page.say(
      "Roofline of {machine}: {bandwidth_bytes_per_second}, {peak} {peak_flops_per_second};\n"
      "ridge at {ridge_flops_per_byte} FLOP/B");
  page.gap();
  page.step(
      "Ridge",
      "{peak_flops_per_second} / {bandwidth_bytes_per_second} = {ridge_flops_per_byte} FLOP/B");
  RooflinePlot plot{context.bytes_per_second, context.ceilings, {}};
  Table table{.columns = {{"", left, 27, "{label} {short_name}"},
                          {"FLOP/B", right, 7, "{intensity_flops_per_byte}"},
                          {"attainable", right, 12, "{attainable_flops_per_second}"},
                          {"of peak", right, 7, "{of_peak}"},
                          {"bound by", left, 8, "{bound_by}"},
                          {"measured", right, 12, "{measured_flops_per_second}"}},
              .rows = {},
              .indent = 2};
  List ceilings;
  for (const RooflinePlot::Ceiling& ceiling : context.ceilings) {
    ceilings.push_back(
        Record{{"name", ceiling.name}, {"flops_per_second", ceiling.flops_per_second}});
  }
  for (const RooflinePoint& point : context.points) {
    const char label = label_of(table.rows.size());
    table.rows.push_back(point_record(point, roof).let("label", std::string(1, label)));
    plot.points.push_back({label, point.intensity,
                           point.measured_flops_per_second > 0.0
                               ? point.measured_flops_per_second
                               : roof.attainable(point.intensity)});
    add_steps(page, context, point, table.rows.back());
  }
  page.data.set("ceilings", std::move(ceilings)).set("points", table.rows);
  page.add(std::move(plot));
  page.gap();
  page.add(std::move(table));
  return page;
}

}  // namespace tilescope::report
