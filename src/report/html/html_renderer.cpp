#include "report/html/html_renderer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/html/embedded_assets.hpp"
#include "report/html/html_blocks.hpp"
#include "report/svg/escape.hpp"
#include "report/svg/plots.hpp"
#include "report/text/text_renderer.hpp"

namespace tilescope::report {
namespace {

std::string_view asset(std::string_view name) {
  const auto all = embedded_assets();
  return std::find_if(all.begin(), all.end(), [&](const auto& a) { return a.name == name; })->text;
}

/// Sections with their headings, for the list of contents.
class Sections {
 public:
  void open(std::string_view name) {
    close();
    ++count_;
    contents_ += fmt::format("<li><a href=\"#part{}\">{}</a></li>", count_, escaped(name));
    body_ += fmt::format(
        "<section id=\"part{0}\" aria-labelledby=\"head{0}\">"
        "<h2 id=\"head{0}\">{1}</h2>\n",
        count_, escaped(name));
    is_open_ = true;
  }
  void add(std::string_view html) { body_ += html; }
  void close() {
    if (is_open_) body_ += "</section>\n";
    is_open_ = false;
  }
  bool is_open() const { return is_open_; }
  const std::string& body() const { return body_; }
  std::string contents() const {
    if (count_ < 2) return {};
    return "<nav aria-label=\"Contents\"><ul>" + contents_ + "</ul></nav>\n";
  }

 private:
  std::string contents_, body_;
  int count_ = 0;
  bool is_open_ = false;
};

std::string_view name_of(const Figure& figure) {
  struct Visitor {
    std::string_view operator()(const SourceView&) const { return "Source, line by line"; }
    std::string_view operator()(const WarpAccess&) const { return "One warp's accesses"; }
    std::string_view operator()(const RaceScene&) const { return "Races"; }
    std::string_view operator()(const AsyncScene&) const { return "Engines and barriers"; }
    std::string_view operator()(const BarChart&) const { return "Compared"; }
    std::string_view operator()(const TimeLine&) const { return "Over time"; }
    std::string_view operator()(const TilePicture&) const { return "A tile's way"; }
    std::string_view operator()(const MemoryLevels&) const { return "From the thread outwards"; }
    std::string_view operator()(const BlockWarps&) const { return "The warps of a block"; }
    std::string_view operator()(const LineChart&) const { return "Scaling"; }
  };
  return std::visit(Visitor{}, figure);
}

std::string steps_html(const Page& page) {
  std::string html = "<ol class=\"steps\">";
  for (const std::string& step : page.steps) {
    html += (step.starts_with(' ') ? "<li class=\"sub\">" : "<li>") + escaped(step) + "</li>";
  }
  return html + "</ol>\n";
}

/// The first paragraph of a page is its title.
std::string title_of(const Page& page) {
  for (const Block& block : page.blocks) {
    const auto* text = std::get_if<Text>(&block);
    if (text != nullptr && !text->text.empty()) return text->text;
  }
  return "tilescope " + page.command;
}

Sections sections_of(const Page& page, const std::string& title) {
  Sections sections;
  std::string_view last;
  if (std::ranges::any_of(page.figures, [](const Figure& figure) {
        return std::holds_alternative<WarpAccess>(figure);
      })) {
    sections.add(lane_stamps_svg());
  }
  for (std::size_t i = 0; i < page.figures.size(); ++i) {
    const std::string_view name = name_of(page.figures[i]);
    if (name != last) sections.open(name);
    last = name;
    sections.add(figure_html(page.figures[i], i + 1));
  }
  sections.close();
  bool is_title = true;
  for (const Block& block : page.blocks) {
    if (const auto* heading = std::get_if<Heading>(&block)) {
      std::string name = heading->text;
      const bool is_place = name.find('.') != name.npos;  // "k.cu:12"
      if (!name.empty() && !is_place) name[0] = static_cast<char>(std::toupper(name[0]));
      sections.open(name);
      continue;
    }
    const auto* text = std::get_if<Text>(&block);
    if (text != nullptr && (text->text.empty() || (is_title && text->text == title))) {
      is_title = is_title && text->text != title;
      continue;
    }
    if (!sections.is_open()) sections.open("Report");
    sections.add(block_html(block));
  }
  if (!page.steps.empty()) {
    sections.open("Step by step");
    sections.add(steps_html(page));
  }
  sections.open("As text");
  sections.add(
      "<details><summary>The same in 80 columns</summary><pre class=\"text\" tabindex=\"0\">" +
      escaped(render_text(page)) + "</pre></details>\n");
  sections.close();
  return sections;
}

}  // namespace

std::string render_html(const Page& page) {
  const std::string title = title_of(page);
  const Sections sections = sections_of(page, title);
  // The policy makes the browser refuse every request, whatever the page may hold.
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>{0}</title>\n<style>\n{1}</style>\n</head>\n<body>\n"
      "<a class=\"skip\" href=\"#main\">Skip to the report</a>\n"
      "<header><p class=\"command\">tilescope {2}</p><h1>{0}</h1>\n{3}</header>\n"
      "<main id=\"main\">\n{4}</main>\n<script>\n{5}</script>\n</body>\n</html>\n",
      escaped(title), asset("page.css"), escaped(page.command), sections.contents(),
      sections.body(), asset("page.js"));
}

}  // namespace tilescope::report
