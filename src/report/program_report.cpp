#include "report/program_report.hpp"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <set>

#include "report/counts_report.hpp"
#include "report/device_report.hpp"
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
  return a.kernel == b.kernel && a.grid == b.grid && a.block == b.block && a.place == b.place;
}

/// Launches `first` to `last` - 1, all alike.
Record row_of(const ExplainResult& result, std::size_t first, std::size_t last) {
  const ProgramLaunch& launch = result.program->launches[first];
  Counts totals;
  for (std::size_t i = first; i < last; ++i) totals += result.launches[i].totals;
  const SectorCounts global = totals.global();
  return {{"launch",
           last - first == 1 ? fmt::format("{}", first) : fmt::format("{}-{}", first, last - 1)},
          {"line", launch.place.line},
          {"kernel", clipped(launch.kernel, 22)},
          {"grid", launch.grid},
          {"block", launch.block},
          {"instructions", totals.instructions},
          {"sectors", global.sectors},
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
  return {{"exit_code", program.exit_code},
          {"signal", program.signal == 0 ? Value() : Value(program.signal)},
          {"kernels", kernels_of(program)}};
}

List launch_list(const ExplainResult& result) {
  List list;
  for (std::size_t i = 0; i < result.launches.size(); ++i) {
    const LaunchCounts& counts = result.launches[i];
    const SourcePlace& place = result.program->launches[i].place;
    list.push_back(Record{{"kernel", counts.kernel},
                          {"grid", counts.grid},
                          {"block", counts.block},
                          {"file", place.file},
                          {"line", place.line},
                          {"totals", counts_record(counts.totals)}});
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
    line.end += static_cast<double>(counts.totals.instructions);
    std::vector<TimeLine::Span>& spans = line.tracks[at->second].spans;
    constexpr std::size_t most_spans = 400;
    if (spans.size() == most_spans) continue;
    const Record row{{"instructions", counts.totals.instructions}, {"grid", counts.grid}};
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
