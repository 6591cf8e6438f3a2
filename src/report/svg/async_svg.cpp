// A finding in asynchronous code: threads, engines and barriers in columns, time running down.
#include <fmt/format.h>

#include <algorithm>

#include "report/svg/drawing.hpp"
#include "report/svg/plots.hpp"
#include "report/text/wrap.hpp"

namespace tilescope::report {
namespace {

constexpr double tracks_x = 8.0, track_width = 190.0, track_step = 206.0, head_height = 46.0,
                 first_row = 68.0, step_height = 92.0, row_step = 148.0;

std::string_view box_class(AsyncScene::Look look) {
  switch (look) {
    case AsyncScene::Look::reads:
      return "step reads";
    case AsyncScene::Look::writes:
      return "step writes";
    case AsyncScene::Look::works:
      return "step works";
    case AsyncScene::Look::may:
      return "ghost";
    case AsyncScene::Look::wrong:
      return "step wrong";
  }
  return "step";
}

void draw_box(Drawing& drawing, const AsyncScene::Step& step) {
  constexpr std::size_t title_columns = 24, code_columns = 23, most_lines = 2;
  const double x = tracks_x + track_step * static_cast<double>(step.track),
               y = first_row + row_step * static_cast<double>(step.row);
  drawing.box(x, y, track_width, step_height, box_class(step.look));
  const bool is_red = step.look == AsyncScene::Look::may || step.look == AsyncScene::Look::wrong;
  drawing.words(x + 10, y + 20, clipped(step.title, title_columns),
                is_red ? "strong badtext" : "strong");
  drawing.words(x + 10, y + 38, place_within(step.place, 26), "faint");
  double line = y + 57;
  std::vector<std::string> code = lines_within(step.source, 0, code_columns);
  if (code.size() > most_lines) {
    code.resize(most_lines);
    code.back() = clipped(code.back() + "...", code_columns);
  }
  for (const std::string& text : code) {
    drawing.words(x + 10, line, text, "mono");
    line += 16;
  }
}

}  // namespace

std::string draw_svg(const AsyncScene& scene) {
  std::size_t rows = 1;
  std::string said = scene.title;
  for (const AsyncScene::Step& step : scene.steps) {
    rows = std::max(rows, step.row + 1);
    said += fmt::format("; {}: {}", scene.tracks[step.track].name, step.title);
  }
  if (!scene.missing.empty()) said += "; missing: " + scene.missing;
  const double bottom = first_row + row_step * static_cast<double>(rows - 1) + step_height + 14,
               right = tracks_x + track_step * static_cast<double>(scene.tracks.size()) -
                       (track_step - track_width);
  Drawing drawing(right + tracks_x, bottom + 26, said, 0.9);
  for (std::size_t i = 0; i < scene.tracks.size(); ++i) {
    const double x = tracks_x + track_step * static_cast<double>(i), middle = x + track_width / 2;
    const AsyncScene::Track& track = scene.tracks[i];
    drawing.line(middle, head_height + 6, middle, bottom, "life");
    drawing.box(x, 6, track_width, head_height, "thread");
    drawing.words(middle, track.below.empty() ? 34 : 25, clipped(track.name, 26), "middle strong");
    drawing.words(middle, 43, track.below, "middle faint");
  }
  for (const AsyncScene::Step& step : scene.steps) draw_box(drawing, step);
  if (!scene.missing.empty()) {
    const double y = first_row + step_height + (row_step - step_height) / 2;
    const std::string label = "missing: " + scene.missing;
    const double width = 18.0 + 7.6 * static_cast<double>(label.size());
    drawing.line(tracks_x, y, right, y, "missing");
    drawing.box((tracks_x + right - width) / 2, y - 12, width, 24, "plate");
    drawing.words((tracks_x + right) / 2, y + 5, label, "middle strong badtext");
  }
  drawing.words(tracks_x, bottom + 18, "time runs down", "faint");
  return drawing.svg();
}

}  // namespace tilescope::report
