#include "report/formats/tool_formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>

namespace tilescope::report {
namespace {

struct Format {
  std::string_view name;
  std::string (*render)(const Outcome& outcome, const FormatContext& context);
};

constexpr std::array table = {Format{"gcc", render_gcc}, Format{"github", render_github},
                              Format{"sarif", render_sarif}, Format{"junit", render_junit}};

/// "k.cu:12:3", "k.cu", or the target where there is no file.
std::string position_of(const AnnotatedPlace& place, const Outcome& outcome) {
  const std::string& file = place.file.empty() ? outcome.file : place.file;
  if (file.empty()) return outcome.target;
  if (place.line == 0) return path_of(file);
  return fmt::format("{}:{}:{}", path_of(file), place.line, column_of(place));
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format& format : table) names.emplace_back(format.name);
  return names;
}

std::string render_format(std::string_view name, const Outcome& outcome,
                          const FormatContext& context) {
  for (const Format& format : table) {
    if (format.name == name) return format.render(outcome, context);
  }
  throw std::logic_error("no such format");
}

std::size_t column_of(const AnnotatedPlace& place) {
  const std::size_t first = place.source.find_first_not_of(' ');
  return first == std::string::npos ? 1 : first + 1;
}

std::string path_of(const std::string& file) {
  namespace fs = std::filesystem;
  const fs::path path(file);
  if (path.is_relative()) return path.lexically_normal().generic_string();
  std::error_code failed;
  const fs::path here = path.lexically_normal().lexically_relative(fs::current_path(failed));
  const bool is_below = !failed && !here.empty() && *here.begin() != "..";
  return is_below ? here.generic_string() : file;
}

std::string lines_of(const Annotation& annotation, const Outcome& outcome) {
  std::string text = fmt::format("{}: {}: {}", position_of(annotation.places.front(), outcome),
                                 annotation.severity, one_line(annotation.message));
  if (!annotation.cure.empty()) text += " Cure: " + one_line(annotation.cure);
  text += fmt::format(" [{}]\n", annotation.kind);
  for (const AnnotatedPlace& place : annotation.places) {
    if (place.text.empty()) continue;
    text += fmt::format("{}: note: {}\n", position_of(place, outcome), one_line(place.text));
  }
  return text;
}

std::string render_gcc(const Outcome& outcome, const FormatContext&) {
  std::string text;
  for (const Annotation& annotation : outcome.annotations) text += lines_of(annotation, outcome);
  if (!outcome.broken.empty()) {
    const std::string& where = outcome.file.empty() ? outcome.target : outcome.file;
    text += fmt::format("{}: error: {} [incomplete]\n", path_of(where), one_line(outcome.broken));
  }
  return text;
}

}  // namespace tilescope::report
