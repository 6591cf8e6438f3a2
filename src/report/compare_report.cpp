#include "report/compare_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/format.hpp"
#include "base/text.hpp"
#include "report/words/wording.hpp"

namespace tilescope::report {
namespace {

std::string change_text(const Move& move) {
  const double change = move.after - move.before;
  std::string text = (change > 0 ? "+" : "-") + counter_text(std::abs(change));
  if (move.before != 0.0)
    text += fmt::format(" ({:+.{}f}%)", 100.0 * change / move.before,
                        std::abs(change) < 0.1 * move.before ? 1 : 0);
  return text;
}

Table moves_table(const std::vector<Move>& moves) {
  Table table{.columns = {{"counter", left, 28, "{counter}"},
                          {"before", right, 12, "{before}"},
                          {"after", right, 12, "{after}"},
                          {"change", right, 14, "{change}"}},
              .rows = {},
              .indent = 2};
  for (const Move& move : moves) {
    table.rows.push_back({{"counter", move.counter},
                          {"before", counter_text(move.before)},
                          {"after", counter_text(move.after)},
                          {"change", change_text(move)}});
  }
  return table;
}

Value number_value(double value) {
  return std::trunc(value) == value && std::abs(value) < 0x1p53
             ? Value(static_cast<std::int64_t>(value))
             : Value(value);
}

List move_list(const std::vector<Move>& moves) {
  List list;
  for (const Move& move : moves) {
    list.push_back(Record{{"counter", move.counter},
                          {"before", number_value(move.before)},
                          {"after", number_value(move.after)}});
  }
  return list;
}

List moved_lines(const Comparison& comparison) {
  List list;
  for (const LineMoves& line : comparison.lines) {
    list.push_back(Record{{"file", line.line().file},
                          {"line", line.after ? Value(line.after->line) : Value()},
                          {"line_before", line.before ? Value(line.before->line) : Value()},
                          {"source", line.line().source},
                          {"moves", move_list(line.moves)}});
  }
  return list;
}

List moved_kernels(const Comparison& comparison) {
  List list;
  for (const auto& [name, moves] : comparison.kernels) {
    list.push_back(Record{{"kernel", name}, {"moves", move_list(moves)}});
  }
  return list;
}

List finding_list(const std::vector<const SnapshotFinding*>& findings) {
  List list;
  for (const SnapshotFinding* finding : findings) {
    list.push_back(Record{{"kind", finding->kind},
                          {"severity", finding->severity},
                          {"kernel", finding->kernel},
                          {"file", finding->file},
                          {"line", finding->line},
                          {"message", finding->message}});
  }
  return list;
}

Record side_record(const Snapshot& shot) {
  return {{"file", shot.origin},
          {"target", shot.target},
          {"device", shot.device},
          {"complete", shot.complete},
          {"estimate", shot.is_estimate}};
}

void add_lines(Page& page, const Comparison& comparison) {
  for (const LineMoves& line : comparison.lines) {
    const SnapshotLine& at = line.line();
    std::string head = fmt::format("{}:{}", at.file.empty() ? "PTX" : at.file, at.line);
    if (line.before == nullptr) head += " (new)";
    if (line.after == nullptr) head += " (gone)";
    if (line.before && line.after && line.before->line != line.after->line) {
      head += fmt::format(" (was line {})", line.before->line);
    }
    page.gap();
    page.head(head);
    if (!at.source.empty()) page.add(Text{std::string(trim(at.source)), 2, 2});
    page.add(moves_table(line.moves));
  }
}

/// Bars of the totals that moved, for a renderer with graphics.
void add_total_charts(Page& page, const std::vector<Move>& moves) {
  constexpr std::size_t most = 12;
  for (const Move& move : std::span(moves).first(std::min(moves.size(), most))) {
    BarChart chart{.title = move.counter, .axis = change_text(move)};
    std::replace(chart.title.begin(), chart.title.end(), '_', ' ');
    chart.bars.push_back({.name = "before",
                          .value = move.before,
                          .label = counter_text(move.before),
                          .is_reference = true});
    chart.bars.push_back({.name = "after", .value = move.after, .label = counter_text(move.after)});
    page.figures.emplace_back(std::move(chart));
  }
}

void add_finding_lines(Page& page, std::string_view what,
                       const std::vector<const SnapshotFinding*>& findings) {
  for (const SnapshotFinding* finding : findings) {
    const std::string place =
        finding->line == 0 ? "" : fmt::format(" at {}:{}", finding->file, finding->line);
    page.add(Text{fmt::format("{} {}: {}{}: {}", what, finding->severity, finding->kind, place,
                              finding->message),
                  0, 2});
  }
}

std::string estimate_note(const Snapshot& shot) {
  return shot.has_intervals
             ? fmt::format(
                   "{} has estimates: only what moved beyond their 95% intervals is listed, "
                   "and no ratios",
                   shot.origin)
             : fmt::format(
                   "{} has estimates from a range of blocks: how far they are off is not "
                   "known",
                   shot.origin);
}

}  // namespace

std::string counter_text(double value) {
  return std::trunc(value) == value && std::abs(value) < 0x1p53
             ? (value < 0 ? "-" : "") + format_count(static_cast<std::uint64_t>(std::abs(value)))
             : fmt::format("{:.4g}", value);
}

std::string move_text(const Move& move) {
  return fmt::format("{} {} -> {}", move.counter, counter_text(move.before),
                     counter_text(move.after));
}

Page compare_page(const Snapshot& before, const Snapshot& after) {
  const Comparison comparison = compare(before, after);
  Page page("compare");
  page.data = {{"before", side_record(before)},
               {"after", side_record(after)},
               {"same", comparison.same()},
               {"totals", move_list(comparison.totals)},
               {"kernels", moved_kernels(comparison)},
               {"new_kernels", comparison.new_kernels},
               {"gone_kernels", comparison.gone_kernels},
               {"lines", moved_lines(comparison)},
               {"new_findings", finding_list(comparison.new_findings)},
               {"gone_findings", finding_list(comparison.gone_findings)}};
  for (const Snapshot* shot : {&before, &after}) {
    page.add(Text{fmt::format("{} {}: {} {} on {}{}", shot == &before ? "before" : "after ",
                              shot->origin, shot->command, shot->target, shot->device,
                              shot->complete ? "" : " (a part of the run)"),
                  0, 7});
  }
  for (const Snapshot* shot : {&before, &after}) {
    if (shot->is_estimate) page.add(Text{estimate_note(*shot), 0, 2});
  }
  page.gap();
  if (comparison.same()) {
    page.add(Text{fmt::format("no difference: {} and {} are the same",
                              counted(after.lines.size(), "line"),
                              counted(after.findings.size(), "finding"))});
    return page;
  }
  add_finding_lines(page, "new", comparison.new_findings);
  add_finding_lines(page, "gone", comparison.gone_findings);
  for (const std::string& name : comparison.new_kernels) page.add(Text{"new kernel " + name});
  for (const std::string& name : comparison.gone_kernels) page.add(Text{"gone kernel " + name});
  if (!comparison.totals.empty()) {
    page.head("totals");
    page.add(moves_table(comparison.totals));
  }
  for (const auto& [name, moves] : comparison.kernels) {
    if (after.kernels.size() < 2) continue;  // the totals are those of the only kernel
    page.gap();
    page.head("kernel " + name);
    page.add(moves_table(moves));
  }
  add_lines(page, comparison);
  add_total_charts(page, comparison.totals);
  return page;
}

}  // namespace tilescope::report
