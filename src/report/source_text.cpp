#include "report/source_text.hpp"

#include <tilescope/error.hpp>

#include "base/file.hpp"
#include "base/text.hpp"

namespace tilescope::report {
namespace {

/// One line made fit for a column: tabs widened, control characters removed.
std::string plain(std::string_view line) {
  constexpr std::size_t tab = 4;
  std::string text;
  for (const char c : line) {
    if (c == '\t') {
      text.append(tab - text.size() % tab, ' ');
    } else if (static_cast<unsigned char>(c) >= ' ') {
      text += c;
    }
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::vector<std::string> plain_lines(std::string_view text) {
  std::vector<std::string> lines;
  if (text.ends_with('\n')) text.remove_suffix(1);
  for (const std::string_view line : split(text, '\n')) lines.push_back(plain(line));
  return lines;
}

}  // namespace

void SourceTexts::add(const std::string& file, std::string_view text) {
  files_[file] = plain_lines(text);
}

void SourceTexts::add_line(const std::string& file, std::uint32_t number, std::string_view text) {
  std::vector<std::string>& all = files_[file];
  if (all.size() < number) all.resize(number);
  all[number - 1] = plain(text);
}

const std::vector<std::string>& SourceTexts::lines(const std::string& file) {
  const auto found = files_.find(file);
  if (found != files_.end()) return found->second;
  std::vector<std::string> read;
  try {
    if (!file.empty()) read = plain_lines(read_text_file(file));
  } catch (const Error&) {
    // A report without quotations is still useful.
  }
  return files_[file] = std::move(read);
}

std::string SourceTexts::line(const std::string& file, std::uint32_t number) {
  const std::vector<std::string>& all = lines(file);
  return number >= 1 && number <= all.size() ? all[number - 1] : std::string();
}

std::uint32_t SourceTexts::line_count(const std::string& file) {
  return static_cast<std::uint32_t>(lines(file).size());
}

std::string_view file_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_header(std::string_view name) {
  return name.ends_with(".cuh") || name.ends_with(".h") || name.ends_with(".hpp");
}

}  // namespace tilescope::report
