#include "report/html/html_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "report/svg/escape.hpp"
#include "report/svg/plots.hpp"
#include "report/text/text_renderer.hpp"

namespace tilescope::report {
namespace {

/// A picture that scrolls within the page where it is too wide, and words below it.
std::string picture(const std::string& svg, std::string_view name, std::string_view caption) {
  return fmt::format(
      "<figure><div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"{}\">{}</div>{}"
      "</figure>\n",
      escaped(name), svg,
      caption.empty() ? "" : fmt::format("<figcaption>{}</figcaption>", escaped(caption)));
}

std::string headed(std::string_view title, const std::string& svg, std::string_view caption = {}) {
  return fmt::format("<h3>{}</h3>\n", escaped(title)) + picture(svg, title, caption);
}

/// Whether the spaces within a text place its words below others.
bool is_laid_out(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin != text.npos && text.find("   ", begin) != text.npos;
}

std::string html_of(const Text& block) {
  return is_laid_out(block.text) ? "<pre>" + escaped(block.text) + "</pre>\n"
                                 : "<p>" + escaped(block.text) + "</p>\n";
}

std::string html_of(const Facts& block) {
  if (block.facts.empty()) return {};
  std::string html = "<dl>";
  for (const auto& [name, value] : block.facts) {
    html += fmt::format("<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(value));
  }
  return html + "</dl>\n";
}

/// The number that a cell is made of, if it is one value; the script sorts by it.
std::string sort_key(const Column& column, const Record& row) {
  const std::string_view cell = column.cell;
  if (!cell.starts_with('{') || cell.find('}') != cell.size() - 1) return {};
  const Value* value = row.find(cell.substr(1, cell.find_first_of(":?}") - 1));
  if (value == nullptr) return {};
  return std::visit(
      [](const auto& plain) -> std::string {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(plain)>>) {
          return fmt::format(" data-v=\"{}\"", plain + 0);
        }
        return {};
      },
      value->data);
}

std::string cell_html(const Column& column, const Record& row, bool is_head) {
  const std::string words = escaped(row.fill(column.cell));
  const char* side = column.side == right ? " class=\"n\"" : "";
  return is_head ? fmt::format("<th scope=\"row\"{}>{}</th>", side, words)
                 : fmt::format("<td{}{}>{}</td>", side, sort_key(column, row), words);
}

std::string row_html(const Table& table, const Record& row) {
  const std::string note = table.note.empty() ? std::string() : row.fill(table.note);
  const std::size_t shown = note.empty() ? table.columns.size() : table.note_from;
  std::string html = "<tr>";
  for (std::size_t i = 0; i < shown; ++i) html += cell_html(table.columns[i], row, i == 0);
  if (!note.empty()) {
    html += fmt::format("<td colspan=\"{}\">{}</td>", table.columns.size() - shown, escaped(note));
  }
  html += "</tr>\n";
  const std::string below = table.below.empty() ? std::string() : row.fill(table.below);
  if (below.empty()) return html;
  return html + fmt::format("<tr class=\"below\"><td colspan=\"{}\">{}</td></tr>\n",
                            table.columns.size(), escaped(below));
}

std::string html_of(const Table& table) {
  if (table.rows.empty()) return {};
  std::string html = "<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"Table\">";
  html += table.has_head && table.below.empty() && table.rows.size() > 1
              ? "<table class=\"sortable\">"
              : "<table>";
  if (table.has_head) {
    html += "<thead><tr>";
    for (const Column& column : table.columns) {
      html += fmt::format("<th scope=\"col\"{}>{}</th>", column.side == right ? " class=\"n\"" : "",
                          escaped(column.title));
    }
    html += "</tr></thead>\n";
  }
  html += "<tbody>";
  for (const Record& row : table.rows) html += row_html(table, row);
  return html + "</tbody></table></div>\n";
}

/// The text's form: a page with a listing has a SourceView among its figures.
std::string html_of(const Listing& listing) {
  Page page("");
  page.add(listing);
  return "<details><summary>" + escaped(listing.file) +
         "</summary><pre class=\"text\" tabindex=\"0\">" + escaped(render_text(page)) +
         "</pre></details>\n";
}

std::string html_of(const Diagnostic& found) {
  std::string html =
      fmt::format("<article class=\"finding {0}\"><h3><b>{0}</b> {1}{2}{3}</h3>", found.severity,
                  escaped(found.kind), found.where.empty() ? "" : " at ", escaped(found.where));
  html += "<ul>";
  for (const Diagnostic::Place& place : found.places) {
    if (place.quoted.empty() && place.who.empty() && place.calls.empty()) continue;
    html += "<li>";
    if (!place.quoted.empty()) {
      html += fmt::format("<code><span class=\"at\">{}</span> {}</code>", place.line,
                          escaped(place.quoted));
    }
    html += escaped(place.who);
    if (!place.calls.empty()) html += (place.who.empty() ? "" : "<br>") + escaped(place.calls);
    html += "</li>";
  }
  html += "</ul>";
  for (const std::string& paragraph : found.paragraphs) {
    html += fmt::format("<p{}>{}</p>", paragraph.starts_with("Cure: ") ? " class=\"cure\"" : "",
                        escaped(paragraph));
  }
  return html + "</article>\n";
}

std::string html_of(const Heading&) {
  return {};  // sections have been made of it
}
std::string html_of(const Curve& curve) {
  return headed(curve.title, draw_svg(curve));
}
std::string html_of(const RooflinePlot& plot) {
  return picture(draw_svg(plot), "Roofline", "Both axes are logarithmic.");
}
std::string html_of(const Grid& grid) {
  return picture(draw_svg(grid), "Banks", "The bank of each element. Framed: a column access.");
}

/// The frames of an access; the script shows one at a time, chosen by a slider.
std::string frames_html(const WarpAccess& access) {
  std::vector<std::string> drawn;
  std::string html = "<div class=\"frames\">";
  for (const WarpAccess::Frame& frame : access.frames) {
    const std::string svg = draw_svg(access, frame);
    html += fmt::format(
        "<figure{}><div class=\"scroll\" role=\"group\" tabindex=\"0\" "
        "aria-label=\"{}\">",
        &frame == &access.frames.front() ? "" : " hidden", escaped(frame.caption));
    html += svg + "</div><figcaption>" + escaped(frame.caption) + "</figcaption></figure>\n";
  }
  return html + "</div>\n";
}

/// The cost of the first frame, for readers who know no CUDA.
std::string cost_title(const WarpAccess& access) {
  const WarpAccess::Frame& frame = access.frames.front();
  const auto threads = static_cast<std::uint32_t>(std::popcount(frame.mask));
  // As many turns as threads: only one bank can make each wait for all others.
  const bool is_one_bank =
      access.shared && threads > 1 && frame.ideal == 1 && frame.cost == threads;
  const Record record{{"threads", threads}, {"cost", frame.cost}, {"ideal", frame.ideal}};
  if (is_one_bank) {
    return record.fill(
        "{threads} threads want the same bank of shared memory: they must take turns, {cost} "
        "instead of {ideal}");
  }
  return record.fill(access.shared ? "{threads} thread{threads:s} take {cost} turn{cost:s} at "
                                     "shared memory"
                                   : "{threads} thread{threads:s} touch {cost} sector{cost:s} of "
                                     "memory") +
         (frame.cost > frame.ideal ? record.fill(" instead of {ideal}")
                                   : std::string(", as few as possible"));
}

std::string cost_after(const WarpAccess& access, const WarpAccess::Frame& frame) {
  return fmt::format("{} {}{} instead of {}", frame.cost, access.shared ? "turn" : "sector",
                     frame.cost == 1 ? "" : "s", access.frames.front().cost);
}

std::string section_of(const WarpAccess& access) {
  std::string html =
      fmt::format("<article class=\"access\"><h3>{}</h3>\n<p>{}, {}:</p><p><code>{}</code></p>\n",
                  escaped(cost_title(access)), escaped(access.place), escaped(access.what),
                  escaped(access.source));
  html += frames_html(access);
  if (!access.cure.empty()) html += "<p class=\"cure\">" + escaped(access.cure) + "</p>\n";
  for (const WarpAccess::Frame& frame : access.cured) {
    html += fmt::format("<h4>After the cure: {}</h4>\n", cost_after(access, frame)) +
            picture(draw_svg(access, frame), "Cured", frame.caption);
  }
  return html + "</article>\n";
}

/// A figure as a part of its section; `number` is its place on the page.
struct FigureHtml {
  std::size_t number;
  std::string operator()(const SourceView& view) const { return source_html(view, number); }
  std::string operator()(const WarpAccess& access) const { return section_of(access); }
  std::string operator()(const RaceScene& scene) const {
    return scene_html(
        fmt::format("A race: two threads access {}, and chance decides which is first",
                    scene.memory),
        draw_svg(scene),
        "Nothing makes one wait for the other, so the result depends on which is faster: " +
            scene.message,
        scene.cure);
  }
  std::string operator()(const AsyncScene& scene) const {
    return scene_html(scene.title, draw_svg(scene), scene.message, scene.cure);
  }
  std::string operator()(const BarChart& chart) const {
    const std::string summary =
        chart.summary.empty() ? "" : "<p><strong>" + escaped(chart.summary) + "</strong></p>\n";
    return fmt::format("<h3>{}</h3>\n<p>{}</p>\n{}{}", escaped(chart.title), escaped(chart.axis),
                       summary, picture(draw_svg(chart), chart.title, {}));
  }
  /// The pictures that need no more than their title.
  template <typename Picture>
  std::string operator()(const Picture& drawn) const {
    return headed(drawn.title, draw_svg(drawn));
  }
  std::string scene_html(const std::string& title, const std::string& svg,
                         const std::string& message, const std::string& cure) const {
    return fmt::format(
        "<article class=\"race\" id=\"f{}\"><h3>{}</h3>{}<p class=\"cure\">Cure: {}</p>"
        "</article>\n",
        number, escaped(title), picture(svg, title, message), escaped(cure));
  }
};

}  // namespace

std::string block_html(const Block& block) {
  return std::visit([](const auto& kind) { return html_of(kind); }, block);
}

std::string figure_html(const Figure& figure, std::size_t number) {
  return std::visit(FigureHtml{number}, figure);
}

}  // namespace tilescope::report
