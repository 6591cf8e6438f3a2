#include "compile/file_names.hpp"

#include <algorithm>

#include "base/octal_escapes.hpp"
#include "compile/embedded_kernels.hpp"

namespace tilescope::compile {
namespace {

/// The embedded file with this text, as kernels/NAME; `name` if there is none.
std::string embedded_name(std::string_view text, std::string_view name) {
  const auto files = embedded_kernels();
  const auto same = std::find_if(files.begin(), files.end(),
                                 [&](const EmbeddedKernel& file) { return file.text == text; });
  return same == files.end() ? std::string(name) : "kernels/" + std::string(same->name);
}

/// `name` and `working_directory` are in the form of assembly text.
std::string stable_name(std::string_view name, const Compilation& compilation,
                        std::string_view working_directory) {
  if (name.starts_with(working_directory) && name.substr(working_directory.size()).starts_with('/'))
    name.remove_prefix(working_directory.size() + 1);
  if (name == with_octal_escapes(nvrtc_name(compilation.source_name))) {
    return with_octal_escapes(compilation.source_name);
  }
  for (const auto& [header, text] : compilation.headers) {
    if (name == with_octal_escapes(header)) return embedded_name(text, name);
  }
  return std::string(name);
}

}  // namespace

std::string nvrtc_name(const std::string& source_name) {
  std::string name;
  for (const char c : source_name) name += c == '"' ? std::string("\u201d") : std::string(1, c);
  return name;
}

std::string with_stable_file_names(std::string_view ptx, const Compilation& compilation,
                                   std::string_view working_directory) {
  const std::string folder = with_octal_escapes(working_directory);
  constexpr std::string_view directive = ".file";
  std::string result;
  result.reserve(ptx.size());
  for (std::size_t at = 0; at < ptx.size();) {
    const std::size_t end = std::min(ptx.find('\n', at), ptx.size() - 1) + 1;
    const std::string_view line = ptx.substr(at, end - at);
    at = end;
    const std::size_t word = line.find_first_not_of(" \t");
    const std::size_t open = line.find('"'), close = line.rfind('"');
    if (word == line.npos || !line.substr(word).starts_with(directive) || open == close) {
      result += line;
      continue;
    }
    result += line.substr(0, open + 1);
    result += stable_name(line.substr(open + 1, close - open - 1), compilation, folder);
    result += line.substr(close);
  }
  return result;
}

}  // namespace tilescope::compile
