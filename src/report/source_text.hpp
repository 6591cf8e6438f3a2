// The lines of the sources that a report quotes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tilescope/target.hpp>
#include <vector>

namespace tilescope::report {

/// Sources by their names in line tables. Those not given are read from disk on first use; a file
/// that cannot be read has no lines.
class SourceTexts {
 public:
  SourceTexts() = default;
  explicit SourceTexts(const std::vector<SourceText>& sources) {
    for (const SourceText& source : sources) add(source.name, source.text);
  }
  void add(const std::string& file, std::string_view text);
  /// Sets line `number` of a file that is on no disk.
  void add_line(const std::string& file, std::uint32_t number, std::string_view text);
  /// Line `number` (from 1) without its end, tabs as spaces; empty if there is none.
  std::string line(const std::string& file, std::uint32_t number);
  std::uint32_t line_count(const std::string& file);

 private:
  const std::vector<std::string>& lines(const std::string& file);
  std::map<std::string, std::vector<std::string>> files_;
};

/// `text` cut to `width` columns, with ".." for a missing part.
std::string clipped(std::string_view text, std::size_t width);

/// Whether the file is one that others include.
bool is_header(std::string_view name);

/// The last part of a path, for columns too narrow for the whole.
std::string_view file_name(std::string_view path);

}  // namespace tilescope::report
