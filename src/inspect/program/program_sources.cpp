#include "inspect/program/program_sources.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <tilescope/program.hpp>
#include <vector>

#include "base/file.hpp"
#include "compile/cpp_tokens.hpp"
#include "compile/includes.hpp"

namespace tilescope {

namespace {

/// The index of main's name where it is defined or declared; else the number of tokens.
std::size_t find_main(const std::vector<std::string_view>& tokens) {
  int depth = 0;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i] == "{") ++depth;
    if (tokens[i] == "}") --depth;
    if (depth == 0 && tokens[i] == "main" && tokens[i + 1] == "(") return i;
  }
  return tokens.size();
}

/// Whether main() at most returns.
bool has_empty_main(const std::string& text) {
  const std::vector<std::string_view> tokens = compile::cpp_tokens(text);
  const auto open =
      std::find(tokens.begin() + static_cast<std::ptrdiff_t>(find_main(tokens)), tokens.end(), "{");
  const auto close = std::find(open, tokens.end(), "}");
  return close != tokens.end() && std::all_of(open + 1, close, [](std::string_view token) {
           return token == "return" || token == "0" || token == "EXIT_SUCCESS" || token == ";";
         });
}

/// Whether the main() of this file has nothing to do with its kernels: it is empty, or no text in
/// the file launches any or touches the device's memory, and no header that might is included.
bool launches_nothing(const std::string& text) {
  const auto has = [&](std::string_view word) { return text.find(word) != text.npos; };
  if (!has("__global__")) return false;
  return has_empty_main(text) ||
         (!has("<<<") && !has("cudaLaunch") && !has("cudaGraphLaunch") && !has("cuLaunch") &&
          !has("cudaM") && !has("#include \"") && !has("<thrust/") && !has("<cub/"));
}

}  // namespace

bool has_main(const std::string& path, const std::vector<std::string>& include_folders) {
  compile::Compilation compilation;
  compilation.source_name = path;
  compilation.source = read_text_file(path);
  compilation.include_directories = include_folders;
  const auto is_in = [](const std::string& text) {
    const std::vector<std::string_view> tokens = compile::cpp_tokens(text);
    return find_main(tokens) < tokens.size();
  };
  return is_in(compilation.source) || std::ranges::any_of(included_texts(compilation), is_in);
}

bool inspect::is_program(const std::string& target, const std::vector<std::string>& more,
                         const std::vector<std::string>& include_folders) {
  if (target.ends_with(".ptx") || target.ends_with(".cuh")) return false;
  if (target.ends_with(".cu") && more.empty() && launches_nothing(read_text_file(target))) {
    return false;
  }
  if (is_program_source(target)) {
    return has_main(target, include_folders) || std::ranges::any_of(more, [&](const auto& file) {
             return is_program_source(file) && has_main(file, include_folders);
           });
  }
  std::error_code failed;
  return target.ends_with(".py") || std::filesystem::is_regular_file(target, failed);
}

}  // namespace tilescope
