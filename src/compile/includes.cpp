#include "compile/includes.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include "base/text.hpp"

namespace tilescope::compile {
namespace {

namespace fs = std::filesystem;

/// The name in `#include "name"` or `#include <name>`, or nothing.
std::optional<std::string_view> included_name(std::string_view line) {
  line = trim(line);
  if (!line.starts_with('#')) return std::nullopt;
  line = trim(line.substr(1));
  if (!line.starts_with("include")) return std::nullopt;
  line = trim(line.substr(7));
  if (line.size() < 3 || (line[0] != '"' && line[0] != '<')) return std::nullopt;
  const auto end = line.find(line[0] == '"' ? '"' : '>', 1);
  if (end == std::string_view::npos) return std::nullopt;
  return line.substr(1, end - 1);
}

class Collector {
 public:
  explicit Collector(const std::vector<std::string>& directories) : directories_(directories) {}

  void scan(std::string_view text, const fs::path& own_directory) {
    for (const std::string_view line : split(without_byte_order_mark(text), '\n')) {
      const auto name = included_name(line);
      if (!name) continue;
      if (!own_directory.empty() && take(own_directory / *name)) continue;
      for (const std::string& directory : directories_) {
        if (take(fs::path(directory) / *name)) break;
      }
    }
  }

  std::vector<std::string> texts;

 private:
  bool take(const fs::path& path) {
    std::error_code failed;
    if (!fs::is_regular_file(path, failed)) return false;
    const fs::path canonical = fs::weakly_canonical(path, failed);
    if (!seen_.insert(canonical).second) return true;
    std::ifstream file(canonical, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    scan(std::string(texts.back()), canonical.parent_path());
    return true;
  }

  const std::vector<std::string>& directories_;
  std::set<fs::path> seen_;
};

}  // namespace

std::vector<std::string> included_names(std::string_view text) {
  std::vector<std::string> names;
  for (const std::string_view line : split(text, '\n')) {
    if (const auto name = included_name(line)) names.emplace_back(*name);
  }
  return names;
}

std::vector<std::string> included_texts(const Compilation& compilation) {
  Collector collector(compilation.include_directories);
  collector.scan(compilation.source, fs::path(compilation.source_name).parent_path());
  return std::move(collector.texts);
}

}  // namespace tilescope::compile
