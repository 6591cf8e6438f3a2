#include <fmt/format.h>

#include "report/formats/tool_formats.hpp"

namespace tilescope::report {
namespace {

/// The data of a workflow command ends with its line; properties also end at ':' and ','.
std::string escaped(std::string_view text, bool is_property) {
  std::string out;
  for (const char c : text) {
    const bool special =
        c == '%' || c == '\r' || c == '\n' || (is_property && (c == ':' || c == ','));
    out += special ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return out;
}

std::string_view command_for(std::string_view severity) {
  return severity == "note" ? "notice" : severity;
}

std::string annotation_text(const Annotation& annotation) {
  std::string text = annotation.message;
  if (!annotation.cure.empty()) text += "\nCure: " + annotation.cure;
  for (const AnnotatedPlace& place : annotation.places) {
    if (place.text.empty()) continue;
    text += place.line == 0
                ? fmt::format("\n{}", place.text)
                : fmt::format("\n{}:{}: {}", path_of(place.file), place.line, place.text);
  }
  return text;
}

std::string workflow_command(std::string_view severity, const std::string& file, std::uint32_t line,
                             std::string_view title, std::string_view text) {
  std::string properties;
  if (!file.empty()) properties = fmt::format("file={},", escaped(path_of(file), true));
  if (line != 0) properties += fmt::format("line={0},endLine={0},", line);
  return fmt::format("::{} {}title={}::{}\n", command_for(severity), properties,
                     escaped(title, true), escaped(text, false));
}

}  // namespace

std::string render_github(const Outcome& outcome, const FormatContext& context) {
  std::string text;
  for (const Annotation& annotation : outcome.annotations) {
    const AnnotatedPlace& place = annotation.places.front();
    const std::string& file = place.file.empty() ? outcome.file : place.file;
    const std::string title =
        annotation.kernel.empty() ? annotation.kind : annotation.kind + " in " + annotation.kernel;
    text +=
        workflow_command(annotation.severity, file, place.line, title, annotation_text(annotation));
  }
  if (!outcome.broken.empty()) {
    text +=
        workflow_command("error", outcome.file, 0, "tilescope " + context.command, outcome.broken);
  }
  return text;
}

}  // namespace tilescope::report
