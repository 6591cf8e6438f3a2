#include "report/text/text_renderer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "report/text/plot_text.hpp"
#include "report/text/table_text.hpp"
#include "report/text/wrap.hpp"

namespace tilescope::report {
namespace {

constexpr std::string_view bold_on = "\033[1m", faint_on = "\033[2m", colour_off = "\033[0m";

/// Lines that fit are unchanged, with all their spaces.
std::string text_block(const Text& block) {
  std::string text;
  for (const std::string_view line : split(block.text, '\n')) {
    const std::size_t indent = block.indent + (text.empty() ? 0 : block.hang);
    if (!line.empty()) text += std::string(indent, ' ');
    text +=
        indent + width_of(line) <= terminal_columns
            ? std::string(line)
            : hang(line, block.indent + block.hang, terminal_columns - block.indent - block.hang);
    text += '\n';
  }
  return text;
}

std::string facts_block(const Facts& block) {
  constexpr std::size_t widest = 40;
  std::size_t width = block.name_width;
  for (const auto& [name, value] : block.facts) width = std::max(width, width_of(name));
  width = std::min(width, widest);
  std::string text;
  for (const auto& [name, value] : block.facts) {
    text += "  " + padded(name, width, false) + ' ';
    if (width_of(name) > width) text += '\n' + std::string(width + 3, ' ');
    text += hang(value, width + 3, terminal_columns - width - 3) + '\n';
  }
  return text;
}

class ListingText {
 public:
  ListingText(const Listing& listing, const TextStyle& style) : listing_(listing), style_(style) {}

  std::string text() const {
    std::string head = " line";
    for (const Column& column : listing_.columns) head += cell(column, column.title);
    std::string text = listing_.file + '\n' + coloured(faint_on, head + "  source") + '\n';
    for (const Listing::Line& line : listing_.lines) {
      text += line.number == 0 ? fmt::format("{:>5}\n", "...") : row(line);
    }
    return text;
  }

 private:
  static std::string cell(const Column& column, std::string_view text) {
    return ' ' + padded(text, column.width, column.side == right);
  }
  std::string coloured(std::string_view colour, const std::string& text) const {
    return style_.colour ? fmt::format("{}{}{}", colour, text, colour_off) : text;
  }
  std::string row(const Listing::Line& line) const {
    std::string text = fmt::format("{}{:>4}", line.hot ? '>' : ' ', line.number);
    for (const Column& column : listing_.columns) {
      text += cell(column, line.figures.fill(column.cell));
    }
    text += "  ";
    text += clipped(line.source, style_.columns - width_of(text));
    text.erase(text.find_last_not_of(' ') + 1);
    return (line.hot ? coloured(bold_on, text) : text) + '\n';
  }

  const Listing& listing_;
  const TextStyle& style_;
};

std::string diagnostic_block(const Diagnostic& found) {
  constexpr std::size_t margin = 8;
  std::string text = fmt::format("{}: {}{}{}\n", found.severity, found.kind,
                                 found.where.empty() ? "" : " at ", found.where);
  for (const Diagnostic::Place& place : found.places) {
    if (!place.quoted.empty()) {
      text +=
          fmt::format("{:>5} | {}\n", place.line, clipped(place.quoted, terminal_columns - margin));
    }
    for (const std::string& line : {place.who, place.calls}) {
      if (!line.empty()) text += std::string(margin, ' ') + line + '\n';
    }
  }
  for (const std::string& paragraph : found.paragraphs) {
    text += "  " + hang(paragraph, 2, terminal_columns - 2) + '\n';
  }
  return text + '\n';
}

std::string steps_text(const std::vector<std::string>& steps) {
  std::string text = "\nStep by step:\n";
  for (std::size_t i = 0; i < steps.size(); ++i) {
    text += fmt::format("{:>3}. {}\n", i + 1, hang(steps[i], 5, terminal_columns - 6));
  }
  return text;
}

}  // namespace

std::string render_text(const Page& page, const TextStyle& style) {
  struct Visitor {
    const TextStyle& style;
    std::string operator()(const Heading& block) const { return block.text + '\n'; }
    std::string operator()(const Text& block) const { return text_block(block); }
    std::string operator()(const Facts& block) const { return facts_block(block); }
    std::string operator()(const Table& block) const { return table_text(block, terminal_columns); }
    std::string operator()(const Listing& block) const { return ListingText(block, style).text(); }
    std::string operator()(const Diagnostic& block) const { return diagnostic_block(block); }
    std::string operator()(const Curve& block) const { return draw(block); }
    std::string operator()(const RooflinePlot& block) const { return draw(block); }
    std::string operator()(const Grid& block) const { return draw(block); }
  };
  std::string text;
  for (const Block& block : page.blocks) text += std::visit(Visitor{style}, block);
  return page.with_steps ? text + steps_text(page.steps) : text;
}

}  // namespace tilescope::report
