#include "report/distributed_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace tilescope::report {
namespace {

using ranks::Layout;

Value grid_text(const Layout& layout) {
  return layout.layers > 1 ? fmt::format("{}x{}x{}", layout.rows, layout.columns, layout.layers)
                           : fmt::format("{}x{}", layout.rows, layout.columns);
}

Record result_record(const DistributedResult& result) {
  const bool is_measured = result.measured.has_value();
  const ranks::PlayedRung& played = result.played;
  Record record{{"name", result.info.name},
                {"idea", result.info.idea},
                {"verdict", result.is_right ? "ok" : "wrong"},
                {"grid", grid_text(result.layout)}};
  if (!result.is_right) return record.let("instead", "wrong elements: no figures");
  // Time, waits and rates of a measured rung are measured; bytes follow from its program.
  const double time = is_measured ? result.measured->time_s : played.time_s;
  const double compute = is_measured ? result.measured->compute_s : played.compute_s;
  ranks::PlayedRung shown = played;
  shown.time_s = time;
  shown.compute_s = compute;
  if (is_measured) shown.most_compute_s = compute;
  record.set_all({{"time_ms", time * 1e3},
                  {"sent_bytes", played.sent_bytes},
                  {"received_bytes", played.received_bytes},
                  {"messages", played.messages},
                  {"held_bytes", played.held_bytes},
                  {"link_share", shown.link_share(result.model)},
                  {"overlap_share", shown.overlap()},
                  {"efficiency_share", shown.efficiency()},
                  {"model_latency_s", result.model.latency_s},
                  {"model_bytes_per_second", result.model.bytes_per_second},
                  {"model_flops_per_second", result.model.flops_per_second}});
  if (is_measured) {
    record.set_all({{"fastest_ms", result.measured->fastest_s * 1e3},
                    {"slowest_ms", result.measured->slowest_s * 1e3},
                    {"predicted_ms", played.time_s * 1e3},
                    {"predicted_over_measured", played.time_s / time}});
  }
  return record.let("instead", "");
}

Table result_table(bool is_measured) {
  Table table{.columns = {{"rung", left, 17, "{name}"},
                          {"grid", right, 7, "{grid}"},
                          {"time", right, 9, "{time_ms}"}},
              .rows = {},
              .note = "{instead}",
              .note_from = 2,
              .below = "  {idea}"};
  if (is_measured) table.columns.push_back({"model", right, 6, "{predicted_over_measured:.2f}"});
  for (const Column& column :
       std::initializer_list<Column>{{"sent", right, 9, "{sent_bytes:bytes}"},
                                     {"link", right, 5, "{link_share:percent}"},
                                     {"overlap", right, 7, "{overlap_share:percent}"},
                                     {"efficiency", right, 10, "{efficiency_share:percent}"}}) {
    table.columns.push_back(column);
  }
  if (!is_measured) table.columns.push_back({"memory", right, 9, "{held_bytes:bytes}"});
  return table;
}

BarChart time_bars(const std::vector<DistributedResult>& results, const List& records) {
  BarChart chart{.title = "Time of the product, by rung",
                 .axis = "Shorter is better.",
                 .waste = "not hidden behind products"};
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& record = std::get<Record>(records[i].data);
    BarChart::Bar bar{.name = std::string(results[i].info.name),
                      .verdict = results[i].is_right ? "ok" : "wrong",
                      .remark = std::string(results[i].info.idea)};
    if (results[i].is_right) {
      bar.value = std::get<double>(record.find("time_ms")->data);
      bar.wasted =
          bar.value * std::max(0.0, 1.0 - std::get<double>(record.find("efficiency_share")->data));
      bar.label = record.fill("{time_ms}, {efficiency_share:percent} efficient");
    }
    chart.bars.push_back(std::move(bar));
  }
  return chart;
}

void add_scaling(Page& page, const std::vector<DistributedResult>& results,
                 const std::vector<ScalingPoint>& scaling) {
  LineChart strong{.title = "Strong scaling: the same product on more ranks",
                   .x_name = "ranks",
                   .y_name = "efficiency"};
  LineChart weak{
      .title = "Weak scaling: as much memory a rank", .x_name = "ranks", .y_name = "efficiency"};
  Table table{.columns = {{"ranks", right, 6, "{ranks}"}}, .rows = {}};
  for (std::size_t rung = 0; rung < results.size(); ++rung) {
    const std::string name(results[rung].info.name);
    strong.series.push_back({name, {}});
    weak.series.push_back({name, {}});
    table.columns.push_back({name.substr(0, 15), right, 11, fmt::format("{{cell{}}}", rung)});
  }
  List points;
  for (const ScalingPoint& point : scaling) {
    strong.series[point.rung].points.emplace_back(point.ranks, point.strong);
    weak.series[point.rung].points.emplace_back(point.ranks, point.weak);
    points.push_back(Record{{"rung", results[point.rung].info.name},
                            {"ranks", point.ranks},
                            {"strong_efficiency", point.strong},
                            {"weak_efficiency", point.weak}});
    const auto row = std::find_if(table.rows.begin(), table.rows.end(), [&](const Record& known) {
      return std::get<std::int64_t>(known.find("ranks")->data) == point.ranks;
    });
    Record& record =
        row != table.rows.end() ? *row : table.rows.emplace_back(Record{{"ranks", point.ranks}});
    record.set(fmt::format("cell{}", point.rung),
               fmt::format("{:.0f}%, {:.0f}%", 100.0 * point.strong, 100.0 * point.weak));
  }
  page.data.set("scaling", std::move(points));
  page.gap();
  page.say(
      "Efficiency on fewer ranks: of the same product, then of one with as much\n"
      "memory a rank");
  page.add(std::move(table));
  page.figures.emplace_back(std::move(strong));
  page.figures.emplace_back(std::move(weak));
}

}  // namespace

Page distributed_page(const DistributedContext& context,
                      const std::vector<DistributedResult>& results,
                      const std::vector<ScalingPoint>& scaling) {
  Page page("ladder");
  const bool is_measured = !results.empty() && results.front().measured.has_value();
  Table table = result_table(is_measured);
  List records;
  for (const DistributedResult& result : results) {
    table.rows.push_back(result_record(result));
    records.emplace_back(table.rows.back());
  }
  page.data = {{"operation", "distributed"},     {"measured", is_measured},
               {"m", context.shape.m},           {"n", context.shape.n},
               {"k", context.shape.k},           {"precision", context.precision},
               {"ranks", context.ranks},         {"hosts", context.hosts},
               {"flops", context.shape.flops()}, {"rungs", table.rows}};
  page.data.let("where", context.where)
      .let("samples", context.samples)
      .let("verified", context.verified_ranks);
  page.say("{m:plain} x {n:plain} x {k:plain} {precision} on {ranks} ranks, {where}");
  page.gap();
  page.figures.emplace_back(time_bars(results, records));
  page.add(std::move(table));
  page.gap();
  page.say(
      is_measured
          ? "Median of {samples} samples, every element verified. \"model\": the predicted\n"
            "time over the measured. \"sent\": by the rank that sends most."
          : "Played on the model. The same programs ran on {verified} ranks with real numbers,\n"
            "and every element was right. \"sent\", \"memory\": of the rank with most.");
  if (!scaling.empty()) add_scaling(page, results, scaling);
  return page;
}

Page distributed_list_page() {
  Page page("ladder");
  Table table{.columns = {{"", left, 18, "{name}"}, {"", left, 0, "{idea}"}},
              .rows = {},
              .has_head = false};
  for (const ranks::DistributedRungInfo& rung : ranks::distributed_rungs()) {
    table.rows.push_back({{"name", rung.name}, {"idea", rung.idea}});
  }
  page.data = {{"operation", "distributed"}, {"rungs", table.rows}};
  page.add(std::move(table));
  return page;
}

}  // namespace tilescope::report
