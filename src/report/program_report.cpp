#include "report/program_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "report/counts_report.hpp"
#include "report/device_report.hpp"
#include "report/estimate_report.hpp"
#include "report/source_text.hpp"
#include "report/words/wording.hpp"

namespace tilescope::report {
namespace {

std::uint64_t kernels_of(const ProgramRun& program) {
  std::set<std::string> names;
  for (const ProgramLaunch& launch : program.launches) names.insert(launch.kernel);
  return names.size();
}

bool is_alike(const ProgramLaunch& a, const ProgramLaunch& b) {
  return a.kernel == b.kernel && a.grid == b.grid && a.block == b.block && a.place == b.place &&
         a.is_watched == b.is_watched;
}

/// Launches `first` to `last` - 1, all alike.
Record row_of(const ExplainResult& result, std::size_t first, std::size_t last) {
  const ProgramLaunch& launch = result.program->launches[first];
  Counts totals;
  std::uint64_t instructions = 0;
  for (std::size_t i = first; i < last; ++i) {
    totals += result.launches[i].totals;
    instructions += result.program->launches[i].warp_instructions;
  }
  const SectorCounts global = totals.global();
  return {{"launch",
           last - first == 1 ? fmt::format("{}", first) : fmt::format("{}-{}", first, last - 1)},
          {"line", launch.place.line},
          {"kernel", clipped(launch.kernel, 22)},
          {"grid", launch.grid},
          {"block", launch.block},
          {"instructions", instructions},
          {"sectors", launch.is_watched ? Value(global.sectors) : Value()},
          {"needed", global.sectors == 0 ? Value()
                                         : Value(static_cast<double>(global.ideal_sectors) /
                                                 static_cast<double>(global.sectors))}};
}

}  // namespace

std::string end_in_words(const ProgramRun& program) {
  if (program.signal != 0) {
    return fmt::format("signal {} ({}) ended the program", program.signal,
                       ::strsignal(program.signal));
  }
  if (program.exit_code == 0) return {};
  return fmt::format("the program ended with exit code {}", program.exit_code);
}

Record program_record(const ProgramRun& program) {
  Record record{{"exit_code", program.exit_code},
                {"signal", program.signal == 0 ? Value() : Value(program.signal)},
                {"kernels", kernels_of(program)}};
  if (!program.watched.empty()) {
    List ranges;
    for (const LaunchRange& range : program.watched) ranges.push_back(to_string(range));
    record.set_all({{"watched", std::move(ranges)},
                    {"launches_watched",
                     std::ranges::count_if(program.launches, &ProgramLaunch::is_watched)}});
  }
  return record;
}

std::string watched_sentence(const ProgramRun& program) {
  std::string ranges;
  for (const LaunchRange& range : program.watched) {
    ranges += (ranges.empty() ? "" : ", ") + to_string(range);
  }
  return fmt::format("watched: {} of {} ({}); the others ran unwatched",
                     std::ranges::count_if(program.launches, &ProgramLaunch::is_watched),
                     counted(program.launches.size(), "launch"), ranges);
}

List launch_list(const ExplainResult& result) {
  List list;
  for (std::size_t i = 0; i < result.launches.size(); ++i) {
    const LaunchCounts& counts = result.launches[i];
    const ProgramLaunch& launch = result.program->launches[i];
    Record record{{"kernel", counts.kernel},   {"grid", counts.grid},
                  {"block", counts.block},     {"file", launch.place.file},
                  {"line", launch.place.line}, {"watched", launch.is_watched},
                  {"totals", Value()}};
    if (launch.is_watched) record.set("totals", counts_record(counts.totals));
    if (result.sample) record.set("estimate", estimate_value(counts, *result.sample));
    list.push_back(std::move(record));
  }
  return list;
}

void add_launches(Page& page, const ExplainResult& result) {
  const std::vector<ProgramLaunch>& launches = result.program->launches;
  constexpr std::size_t most_rows = 20;
  Table table{.columns = {{"launch", left, 6, "{launch}"},
                          {"line", right, 4, "{line:plain}"},
                          {"kernel", left, 10, "{kernel}"},
                          {"grid", left, 6, "{grid:few_extents}"},
                          {"block", left, 6, "{block:few_extents}"},
                          {"warp instr.", right, 11, "{instructions:short}"},
                          {"sectors", right, 7, "{sectors:short}"},
                          {"needed", right, 6, "{needed:percent}"}},
              .rows = {},
              .indent = 2};
  std::size_t first = 0;
  while (first < launches.size() && table.rows.size() < most_rows) {
    std::size_t last = first + 1;
    while (last < launches.size() && is_alike(launches[first], launches[last])) ++last;
    table.rows.push_back(row_of(result, first, last));
    first = last;
  }
  page.head("launches");
  page.add(std::move(table));
  if (first < launches.size()) {
    page.add(Text{counted(launches.size() - first, "more launch") + " (--json has all)", 2});
  }
  if (!result.program->watched.empty()) page.add(Text{watched_sentence(*result.program), 2, 2});
  page.gap();
}

TimeLine launches_figure(const ExplainResult& result) {
  TimeLine line{.title = "The launches in order, each as long as its warp instructions",
                .unit = "warp instructions"};
  std::map<std::string, std::size_t> track_of;
  for (std::size_t i = 0; i < result.launches.size(); ++i) {
    const LaunchCounts& counts = result.launches[i];
    const auto [at, is_new] = track_of.emplace(counts.kernel, line.tracks.size());
    if (is_new) line.tracks.push_back({counts.kernel, {}});
    const double begin = line.end;
    const std::uint64_t instructions = result.program->launches[i].warp_instructions;
    line.end += static_cast<double>(instructions);
    std::vector<TimeLine::Span>& spans = line.tracks[at->second].spans;
    constexpr std::size_t most_spans = 400;
    if (spans.size() == most_spans) continue;
    const Record row{{"instructions", instructions}, {"grid", counts.grid}};
    spans.push_back({begin, line.end, TimeLine::Kind::busy, std::to_string(i),
                     fmt::format("launch {}: ", i) +
                         row.fill("{instructions} warp instructions, grid {grid:few_extents}")});
  }
  return line;
}

Page program_page(const RunResult& result) {
  Page page("run");
  page.data = {{"target", result.target},
               {"device", device_record(result.device, result.properties)},
               {"complete", result.complete()},
               {"launches", result.ran.launches}};
  page.data.set_all(program_record(*result.program));
  return page;
}

}  // namespace tilescope::report
