// Bars, time lines and banks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "report/svg/axis.hpp"
#include "report/svg/drawing.hpp"
#include "report/svg/plots.hpp"
#include "report/text/wrap.hpp"

namespace tilescope::report {
namespace {

constexpr double chart_width = 680.0;

std::string_view bar_class(const BarChart::Bar& bar) {
  if (bar.verdict == "wrong") return "bar bad";
  return bar.is_reference ? "bar reference" : "bar";
}

void draw_verdict(Drawing& drawing, const BarChart::Bar& bar, double y) {
  if (bar.verdict == "ok") drawing.words(6, y, "\u2713", "strong goodtext");
  if (bar.verdict == "wrong") drawing.words(6, y, "\u2717", "strong badtext");
  if (bar.verdict == "skipped") drawing.words(6, y, "\u2013", "faint");
}

std::string_view class_of(TimeLine::Kind kind) {
  switch (kind) {
    case TimeLine::Kind::busy:
      return "span busy";
    case TimeLine::Kind::waiting:
      return "span waiting";
    case TimeLine::Kind::diverged:
      return "span diverged";
    case TimeLine::Kind::stuck:
      return "span stuck";
    case TimeLine::Kind::copy_in:
      return "span in";
    case TimeLine::Kind::copy_out:
      return "span out";
    case TimeLine::Kind::array:
      return "span waiting";
    case TimeLine::Kind::burst:
      return "span busy";
  }
  return "span";
}

std::string_view words_of(TimeLine::Kind kind) {
  switch (kind) {
    case TimeLine::Kind::busy:
      return "working";
    case TimeLine::Kind::waiting:
      return "waiting";
    case TimeLine::Kind::diverged:
      return "working, part of the lanes idle";
    case TimeLine::Kind::stuck:
      return "waiting for ever";
    case TimeLine::Kind::copy_in:
      return "copy to the device";
    case TimeLine::Kind::copy_out:
      return "copy to the host";
    case TimeLine::Kind::array:
      return "the array works";
    case TimeLine::Kind::burst:
      return "a burst crosses the interface";
  }
  return "";
}

void draw_legend(Drawing& drawing, const TimeLine& line, double x, double y) {
  std::set<TimeLine::Kind> kinds;
  for (const TimeLine::Track& track : line.tracks) {
    for (const TimeLine::Span& span : track.spans) kinds.insert(span.kind);
  }
  if (kinds.size() < 2) return;
  for (const TimeLine::Kind kind : kinds) {
    drawing.box(x, y - 10, 14, 12, class_of(kind));
    drawing.words(x + 19, y, words_of(kind), "faint");
    x += 36 + 7.0 * static_cast<double>(words_of(kind).size());
  }
}

}  // namespace

std::string draw_svg(const BarChart& chart) {
  constexpr double row = 36.0, top = 26.0, bars_from = 200.0, letter = 7.5;
  double most = 0.0, bars_to = 520.0;
  std::string said;
  for (const BarChart::Bar& bar : chart.bars) {
    most = std::max(most, bar.value);
    said += fmt::format("; {}: {}", bar.name, bar.label);
    const double label = letter * static_cast<double>(width_of(bar.label)) + 10.0;
    if (bar.value > 0.0) bars_to = std::min(bars_to, chart_width - label);
  }
  const Scale x{0.0, most > 0.0 ? most : 1.0, bars_from, bars_to};
  Drawing drawing(chart_width, top + row * static_cast<double>(chart.bars.size()) + 6.0,
                  chart.title + said);
  if (!chart.waste.empty()) {
    const double key = letter * static_cast<double>(chart.use.size()) + 36.0;
    drawing.box(bars_to - 60 - key, 7, 14, 11, "bar");
    drawing.words(bars_to - 40 - key, 16, chart.use, "");
    drawing.box(bars_to - 60, 7, 14, 11, "bar bad");
    drawing.words(bars_to - 40, 16, chart.waste, "badtext");
  }
  double y = top;
  for (const BarChart::Bar& bar : chart.bars) {
    draw_verdict(drawing, bar, y + 14);
    drawing.words(20, y + 14, clipped(bar.name, 24), "strong");
    if (!bar.remark.empty()) drawing.words(20, y + 27, clipped(bar.remark, 100), "faint small");
    if (bar.value > 0.0) {
      drawing.box(bars_from, y + 3, std::max(2.0, x.at(bar.value) - bars_from), 14, bar_class(bar));
      const double waste = x.at(bar.wasted) - bars_from;
      if (waste > 0.0) drawing.box(x.at(bar.value) - waste, y + 3, waste, 14, "bar bad");
    }
    const double behind = bar.value > 0.0 ? x.at(bar.value) + 6 : bars_from;
    drawing.words(behind, y + 14, bar.label, bar.verdict == "wrong" ? "strong badtext" : "");
    y += row;
  }
  return drawing.svg();
}

std::string draw_svg(const TimeLine& line) {
  constexpr double row = 30.0, top = 30.0, from = 130.0, to = 660.0;
  const double bottom = top + row * static_cast<double>(line.tracks.size());
  Drawing drawing(chart_width, bottom + 44, line.title);
  const Scale x{0.0, line.end > 0.0 ? line.end : 1.0, from, to};
  draw_legend(drawing, line, from, 16);
  for (const double tick : round_ticks(line.end)) {
    drawing.line(x.at(tick), top, x.at(tick), bottom, "grid");
    drawing.words(x.at(tick), bottom + 16, tick_text(tick), "middle faint");
  }
  drawing.words((from + to) / 2, bottom + 34, line.unit, "middle faint");
  double y = top;
  for (const TimeLine::Track& track : line.tracks) {
    drawing.words(from - 8, y + 19, clipped(track.name, 20), "end");
    for (const TimeLine::Span& span : track.spans) {
      const double begin = x.at(span.begin), length = std::max(1.5, x.at(span.end) - begin);
      drawing.box(begin, y + 4, length, row - 8, class_of(span.kind), span.words);
      if (length > 8.0 * static_cast<double>(span.label.size()) + 4.0) {
        drawing.words(begin + length / 2, y + 19, span.label, "middle inside");
      }
    }
    y += row;
  }
  return drawing.svg();
}

std::string draw_svg(const Grid& grid) {
  constexpr double cell = 24.0, name_width = 44.0, top = 8.0;
  std::size_t columns = 0;
  for (const Grid::Row& row : grid.rows) columns = std::max(columns, row.cells.size());
  const double width = name_width + cell * static_cast<double>(columns) + 30.0;
  Drawing drawing(width, top + cell * static_cast<double>(grid.rows.size()) + 8.0,
                  "The bank of each element; the access down a column is framed");
  double y = top;
  for (const Grid::Row& row : grid.rows) {
    drawing.words(name_width - 8, y + 16, row.name, "end faint");
    double x = name_width;
    for (const Grid::Cell& one : row.cells) {
      if (one.bank < 0) {
        drawing.box(x, y, cell - 2, cell - 2, "padding", "padding");
      } else {
        const std::string tint = fmt::format("bank b{}{}", one.bank * 8 / std::max(grid.banks, 1),
                                             one.marked ? " marked" : "");
        drawing.box(x, y, cell - 2, cell - 2, tint);
        drawing.words(x + cell / 2 - 1, y + 15, std::to_string(one.bank),
                      one.marked ? "middle strong" : "middle");
      }
      x += cell;
    }
    if (grid.more_columns) drawing.words(x + 2, y + 15, "...", "faint");
    y += cell;
  }
  return drawing.svg();
}

}  // namespace tilescope::report
