// A race: two threads, time running down, and the order that is missing between them.
#include <fmt/format.h>

#include "report/svg/drawing.hpp"
#include "report/svg/plots.hpp"
#include "report/text/wrap.hpp"

namespace tilescope::report {
namespace {

constexpr double scene_width = 460.0, column = 200.0, box_height = 104.0;
constexpr std::size_t code_columns = 25;

/// The first lines of `text` in a box's width.
std::vector<std::string> wrapped(std::string_view text, std::size_t most) {
  std::vector<std::string> lines = lines_within(text, 0, code_columns);
  if (lines.size() > most) {
    lines.resize(most);
    lines.back() = clipped(lines.back() + "...", code_columns);
  }
  return lines;
}

void draw_step(Drawing& drawing, const RaceScene::Side& side, const std::string& memory, double x,
               double y) {
  drawing.box(x, y, column, box_height, side.writes ? "step writes" : "step reads");
  drawing.words(x + 10, y + 20, (side.writes ? "writes " : "reads ") + clipped(memory, 18),
                "strong");
  drawing.words(x + 10, y + 38, place_within(side.place, 27), "faint");
  double line = y + 58;
  for (const std::string& code : wrapped(side.source, 3)) {
    drawing.words(x + 10, line, code, "mono");
    line += 16;
  }
}

void draw_thread(Drawing& drawing, const RaceScene::Side& side, double x, double bottom) {
  drawing.box(x, 6, column, 46, "thread");
  const double y = 24;
  // "block (0,0,0), thread (1,0,0)": a line for each.
  const std::size_t comma = std::min(side.who.find(", "), side.who.size());
  drawing.words(x + column / 2, y, side.who.substr(0, comma), "middle strong");
  if (comma < side.who.size()) {
    drawing.words(x + column / 2, y + 17, side.who.substr(comma + 2), "middle strong");
  }
  drawing.line(x + column / 2, 52, x + column / 2, bottom, "life");
}

/// The result of the second access when it comes before the first.
std::string_view outcome(bool first_writes, bool second_writes) {
  if (!second_writes) return "if this thread is faster: it gets the old value, the result is wrong";
  return first_writes ? "if this thread is faster: the other's value stays, not this one"
                      : "if this thread is faster: the other reads the new value, not the old";
}

}  // namespace

std::string draw_svg(const RaceScene& scene) {
  constexpr double first_x = 8.0, second_x = 224.0, early_y = 72.0, first_y = 128.0, gap_y = 256.0,
                   second_y = 306.0, bottom = 430.0;
  const auto& [first, second] = scene.sides;
  const std::string missing = scene.missing.empty()
                                  ? std::string("nothing makes one wait for the other")
                                  : fmt::format("missing: {}", scene.missing);
  Drawing drawing(scene_width, bottom + 14,
                  fmt::format("{} does a {} at {}; {} does a {} at {}; {}", first.who, first.action,
                              first.place, second.who, second.action, second.place, missing),
                  0.68);
  draw_thread(drawing, first, first_x, bottom);
  draw_thread(drawing, second, second_x, bottom);
  drawing.words(first_x, early_y + 14, "time \u2193", "faint halo");
  draw_step(drawing, first, scene.memory, first_x, first_y);
  drawing.box(second_x, early_y, column, box_height, "ghost");
  drawing.words(second_x + 10, early_y + 20,
                second.writes ? "or writes too early" : "or reads too early", "strong badtext");
  double y = early_y + 46;
  for (const std::string& line : lines_within(outcome(first.writes, second.writes), 0, 28)) {
    drawing.words(second_x + 10, y, line, "badtext");
    y += 17;
  }
  drawing.line(first_x, gap_y + 4, second_x + column, gap_y + 4, "missing");
  const double label = 10.0 + 7.4 * static_cast<double>(missing.size());
  drawing.box((scene_width - 28 - label) / 2, gap_y - 8, label, 24, "plate");
  drawing.words((scene_width - 28) / 2, gap_y + 9, missing, "middle strong badtext");
  drawing.words((scene_width - 28) / 2, gap_y + 33, scene.meaning, "middle badtext halo");
  draw_step(drawing, second, scene.memory, second_x, second_y);
  // From the second access up past the line that does not hold it.
  const double edge = second_x + column;
  drawing.path(
      fmt::format("M{0} {1}h12q8 0 8-8V{2}q0-8-8-8h-10", edge, second_y + 40, early_y + 60),
      "early");
  drawing.path(fmt::format("M{0} {1}l8-5v10z", edge + 1, early_y + 52), "tip");
  return drawing.svg();
}

}  // namespace tilescope::report
