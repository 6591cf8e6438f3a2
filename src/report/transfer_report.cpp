#include "report/transfer_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilescope::report {
namespace {

using measure::LinkRate;
using measure::PipelineResult;

List link_list(const std::vector<LinkRate>& rates) {
  List list;
  for (const LinkRate& rate : rates) {
    list.push_back(Record{{"memory", measure::name_of(rate.memory)},
                          {"direction", measure::name_of(rate.direction)},
                          {"bytes", rate.bytes},
                          {"median_ms", rate.median_ms},
                          {"bytes_per_second", rate.bytes_per_second()}});
  }
  return list;
}

/// One row a size; a cell is named after its memory and direction.
Table link_table(const std::vector<LinkRate>& rates) {
  Table table{.columns = {{"size", right, 9, "{size:bytes}"},
                          {"up", right, 10, "{pageable_to_device:.2f?-}"},
                          {"down", right, 9, "{pageable_to_host:.2f?-}"},
                          {"up", right, 10, "{pinned_to_device:.2f?-}"},
                          {"down", right, 9, "{pinned_to_host:.2f?-}"},
                          {"both", right, 10, "{pinned_both:.2f?-}"},
                          {"", left, 0, " {share:bar16}"}},
              .rows = {}};
  double best = 0.0;
  for (const LinkRate& rate : rates) best = std::max(best, rate.bytes_per_second());
  for (const LinkRate& rate : rates) {
    const Value* last = table.rows.empty() ? nullptr : table.rows.back().find("size");
    if (last == nullptr || std::get<std::uint64_t>(last->data) != rate.bytes) {
      table.rows.push_back({{"size", std::uint64_t{rate.bytes}}, {"share", 0.0}});
    }
    const std::string name =
        fmt::format("{}_{}", measure::name_of(rate.memory), measure::name_of(rate.direction));
    table.rows.back().set(name, known(rate.bytes_per_second() * 1e-9));
    if (name == "pinned_to_device") {
      table.rows.back().set("share", rate.bytes_per_second() / best);
    }
  }
  return table;
}

Record pipeline_record(const PipelineResult& r) {
  List tasks;
  for (std::size_t i = 0; i < r.tasks.size(); ++i) {
    tasks.push_back(Record{{"engine", transfer::name_of(r.tasks[i].engine)},
                           {"segment", r.tasks[i].segment},
                           {"stream", r.tasks[i].stream},
                           {"start_ms", r.intervals[i].start},
                           {"end_ms", r.intervals[i].end}});
  }
  return Record{{"form", transfer::name_of(r.form)},
                {"total_ms", r.total_ms},
                {"longest_engine_ms", r.longest_engine_ms()},
                {"overlap", r.overlap()},
                {"bytes_in", r.bytes_in},
                {"bytes_out", r.bytes_out},
                {"tasks", std::move(tasks)}}
      .let("times_longest", r.total_ms / r.longest_engine_ms())
      .let("percent", 100.0 * r.overlap())
      .let("link", (r.bytes_in + r.bytes_out) / r.total_ms * 1e-6)
      .let("idea", transfer::idea_of(r.form));
}

/// A row for each engine: over time, the last digit of the segment it is busy with.
Table timeline(const PipelineResult& result) {
  constexpr std::size_t width = 68;
  std::string rows[transfer::engine_count];
  for (std::string& row : rows) row.assign(width, '.');
  for (std::size_t i = 0; i < result.tasks.size(); ++i) {
    const auto column = [&](double time) {
      return static_cast<std::size_t>(
          std::clamp(std::floor(time / result.total_ms * width), 0.0, double(width)));
    };
    const std::size_t from = column(result.intervals[i].start);
    const std::size_t to = std::max(from + 1, column(result.intervals[i].end));
    std::string& row = rows[static_cast<int>(result.tasks[i].engine)];
    for (std::size_t x = from; x < std::min<std::size_t>(to, row.size()); ++x) {
      row[x] = static_cast<char>('0' + result.tasks[i].segment % 10);
    }
  }
  Table table{.columns = {{"", left, 8, "{engine}"}, {"", left, width, "{time}"}},
              .rows = {},
              .indent = 2,
              .has_head = false};
  for (int engine = 0; engine < transfer::engine_count; ++engine) {
    table.rows.push_back({{"engine", transfer::name_of(static_cast<transfer::Engine>(engine))},
                          {"time", rows[engine]}});
  }
  return table;
}

/// The same as a figure.
TimeLine pipeline_figure(const PipelineResult& result, double longest_ms) {
  using Kind = TimeLine::Kind;
  TimeLine line{.title = fmt::format("{}: {}, {:.3g} ms", transfer::name_of(result.form),
                                     transfer::idea_of(result.form), result.total_ms),
                .unit = "ms",
                .end = longest_ms};
  for (int engine = 0; engine < transfer::engine_count; ++engine) {
    line.tracks.push_back(
        {std::string(transfer::name_of(static_cast<transfer::Engine>(engine))), {}});
  }
  constexpr Kind kinds[] = {Kind::copy_in, Kind::busy, Kind::copy_out};
  for (std::size_t i = 0; i < result.tasks.size(); ++i) {
    const transfer::Task& task = result.tasks[i];
    const auto engine = static_cast<std::size_t>(task.engine);
    const transfer::Interval& during = result.intervals[i];
    line.tracks[engine].spans.push_back(
        {during.start, during.end, kinds[engine], std::to_string(task.segment),
         fmt::format("segment {}, {:.4g} to {:.4g} ms", task.segment, during.start, during.end)});
  }
  return line;
}

}  // namespace

Page transfer_page(const TransferContext& context, const std::vector<LinkRate>& rates,
                   const std::vector<PipelineResult>& pipelines) {
  Page page("transfer");
  Table forms{.columns = {{"form", left, 14, "{form}"},
                          {"time", right, 10, "{total_ms}"},
                          {"x longest", right, 9, "{times_longest:.3f}"},
                          {"overlap", right, 8, "{percent:.0f}%"},
                          {"link GB/s", right, 9, "{link:.1f}"}},
              .rows = {}};
  for (const PipelineResult& result : pipelines) forms.rows.push_back(pipeline_record(result));
  page.data = {{"measured", !context.device.empty()},
               {"device", or_null(context.device)},
               {"link", link_list(rates)},
               {"pipelines", forms.rows}};
  page.data.let("where", context.where)
      .let("samples", context.samples)
      .let("total_bytes", context.total_bytes);
  double longest_ms = 0.0;  // one scale for all, so that they can be compared
  for (const PipelineResult& result : pipelines) longest_ms = std::max(longest_ms, result.total_ms);
  for (const PipelineResult& result : pipelines) {
    page.figures.emplace_back(pipeline_figure(result, longest_ms));
  }
  if (!rates.empty()) {
    page.say("Copies between host and {where}, median of {samples}");
    page.say("     GB/s       pageable                    pinned");
    page.add(link_table(rates));
    page.gap();
  }
  page.say("C = A + B over {total_bytes}, {where}");
  page.add(forms);
  page.gap();
  page.say("Which engine was busy with which segment (its number's last digit):");
  for (std::size_t i = 0; i < pipelines.size(); ++i) {
    page.add(Text{forms.rows[i].fill("{form}: {idea}, {total_ms}")});
    page.add(timeline(pipelines[i]));
  }
  return page;
}

}  // namespace tilescope::report
