#include "report/roofline_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "base/format.hpp"
#include "base/json_object.hpp"
#include "base/text.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"

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

RooflinePoint counted_point(std::string name, double flops, double bytes) {
  return {std::move(name), flops, bytes, gpu::intensity(flops, bytes), 0.0};
}

void add_operation(std::vector<RooflinePoint>& points, const std::string& operation,
                   const ProblemOptions& problem) {
  const auto made = operations::make_operation(operation, problem);
  const operations::Work work = made->work();
  if (operation == "matmul") {
    // tile_intensity() assumes tiles of float32.
    const Precision precision = parse_precision(problem.precision.value_or("fp32"));
    const double scale = static_cast<double>(sizeof(float)) /
                         static_cast<double>(size_of(operations::operand_type(precision)));
    points.push_back(
        {.name = "untiled inner product", .intensity = scale * gpu::tile_intensity(1, 1)});
    for (const int width : {8, 16, 32, 128}) {
      points.push_back({.name = fmt::format("tiles of {} x {}", width, width),
                        .intensity = scale * gpu::tile_intensity(width, width)});
    }
  }
  points.push_back(counted_point(fmt::format("{} {}, ideal", operation, made->size_text()),
                                 work.flops, work.bytes));
}

void add_results(std::vector<RooflinePoint>& points, const std::string& path) {
  const std::string origin = quoted(path);
  const nlohmann::json document = parse_json_object(read_text_file(path), origin);
  const auto refuse = [&origin](std::string_view why) { throw input_error("{}: {}", origin, why); };
  const auto is = [](const nlohmann::json& object, const char* key, std::string_view value) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() && found->get<std::string>() == value;
  };
  if (is(document, "command", "ladder")) {
    const double all_flops = number_in(document, "flops", origin);
    const double all_bytes = number_in(document, "compulsory_bytes", origin);
    if (!(all_flops > 0.0) || !(all_bytes > 0.0) || !document.contains("rungs")) {
      refuse("no flops, compulsory_bytes and rungs, as tilescope ladder --json writes them");
    }
    for (const nlohmann::json& rung : document["rungs"]) {
      if (!rung.is_object()) refuse("\"rungs\": expected objects {...}");
      if (!is(rung, "verdict", "ok") || !rung.contains("flops_per_second")) continue;
      const nlohmann::json name = rung.value("name", nlohmann::json("?"));
      points.push_back(counted_point(name.is_string() ? name.get<std::string>() : name.dump(),
                                     all_flops, all_bytes));
      points.back().measured_flops_per_second = number_in(rung, "flops_per_second", origin);
    }
    return;
  }
  if (is(document, "command", "explain") && document.contains("totals")) {
    const nlohmann::json& totals = document["totals"];
    if (!totals.is_object()) refuse("\"totals\": expected an object {...}");
    const double sectors = number_in(totals, "global_load_sectors", origin) +
                           number_in(totals, "global_store_sectors", origin) +
                           number_in(totals, "global_reduction_sectors", origin);
    points.push_back(counted_point("counted by explain", 2.0 * number_in(totals, "ffma", origin),
                                   32.0 * sectors));
    return;
  }
  refuse("not a file of tilescope ladder --json or tilescope explain --json");
}

}  // namespace tilescope::report
