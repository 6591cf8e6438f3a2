#include "report/svg/drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/svg/escape.hpp"
#include "report/text/wrap.hpp"

namespace tilescope::report {
namespace {

std::string class_of(std::string_view classes) {
  return classes.empty() ? std::string() : fmt::format(" class=\"{}\"", classes);
}

}  // namespace

std::string size_text(double size) {
  const double rounded = std::round(size * 10.0) / 10.0;
  return rounded == std::floor(rounded) ? fmt::format("{:.0f}", rounded + 0.0)
                                        : fmt::format("{:.1f}", rounded);
}

std::string place_within(std::string_view place, std::size_t width) {
  const std::string_view line = place.substr(std::min(place.rfind(':'), place.size()));
  return clipped(place.substr(0, place.size() - line.size()), width - line.size()).append(line);
}

void Drawing::line(double x1, double y1, double x2, double y2, std::string_view classes) {
  body_ += fmt::format("<path d=\"M{} {}L{} {}\"{}/>", size_text(x1), size_text(y1), size_text(x2),
                       size_text(y2), class_of(classes));
}

void Drawing::box(double x, double y, double width, double height, std::string_view classes,
                  std::string_view tip) {
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}", size_text(x),
                       size_text(y), size_text(width), size_text(height), class_of(classes));
  body_ += tip.empty() ? "/>" : fmt::format("><title>{}</title></rect>", escaped(tip));
}

void Drawing::row_of_boxes(const std::vector<Reach>& boxes, double y, double height,
                           std::string_view classes) {
  std::string steps;
  for (const auto& [begin, end] : boxes) {
    const std::string from = size_text(begin);
    steps += fmt::format("M{} {}H{}v{}H{}z", from, size_text(y), size_text(end), size_text(height),
                         from);
  }
  path(steps, classes);
}

void Drawing::stamp(std::string_view id, double y) {
  body_ += fmt::format("<use href=\"#{}\" y=\"{}\"/>", id, size_text(y));
}

void Drawing::disc(double x, double y, double radius, std::string_view classes) {
  body_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"{}/>", size_text(x), size_text(y),
                       size_text(radius), class_of(classes));
}

void Drawing::path(std::string_view steps, std::string_view classes) {
  if (!steps.empty()) body_ += fmt::format("<path d=\"{}\"{}/>", steps, class_of(classes));
}

void Drawing::words(double x, double y, std::string_view text, std::string_view classes) {
  if (text.empty()) return;
  body_ += fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>", size_text(x), size_text(y),
                       class_of(classes), escaped(text));
}

std::string Drawing::svg() const {
  return fmt::format(
      "<svg viewBox=\"0 0 {} {}\" style=\"--w:{};--m:{}\" role=\"img\" aria-label=\"{}\">{}</svg>",
      size_text(width_), size_text(height_), size_text(width_), size_text(width_ * least_share_),
      escaped(description_), body_);
}

std::string Drawing::as_stamp(std::string_view id) const {
  return fmt::format(
      "<svg class=\"defs\" aria-hidden=\"true\"><defs><g id=\"{}\">{}</g></defs></svg>", id, body_);
}

}  // namespace tilescope::report
