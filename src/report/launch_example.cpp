#include "report/launch_example.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/text.hpp"
#include "report/text/wrap.hpp"

namespace tilescope::report {
namespace {

std::string extents_text(const Dim3& d) {
  if (d.z > 1) return fmt::format("{},{},{}", d.x, d.y, d.z);
  return d.y > 1 ? fmt::format("{},{}", d.x, d.y) : fmt::format("{}", d.x);
}

/// Quoted for a shell.
std::string shell_word(std::string_view word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("_-+./,:=@%").find(c) != std::string_view::npos;
  });
  if (plain) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return printable(quoted + "'");
}

/// The words of a command, with a backslash where a line ends.
std::string command_lines(const std::vector<std::string>& words) {
  constexpr std::size_t columns = 78;
  std::string text, line = "   ";
  for (const std::string& word : words) {
    if (line.size() + 1 + word.size() > columns && line.size() > 8) {
      text += line + " \\\n";
      line = "       ";
    }
    line += ' ' + word;
  }
  return text + line;
}

}  // namespace

std::string launch_example(const std::string& command, const std::string& path,
                           const LaunchError& error) {
  const LaunchDescription& launch = error.suggestion();
  std::vector<std::string> words{"tilescope", command, shell_word(path)};
  if (!launch.kernel.empty()) words.push_back("--kernel " + shell_word(launch.kernel));
  words.push_back("--grid " + extents_text(*launch.grid));
  words.push_back("--block " + extents_text(*launch.block));
  if (launch.shared_bytes > 0) words.push_back(fmt::format("--shared {}", launch.shared_bytes));
  if (launch.cluster.count() > 1) words.push_back("--cluster " + extents_text(launch.cluster));
  if (launch.cooperative) words.emplace_back("--cooperative");
  for (const auto& [name, value] : launch.defines) {
    words.push_back("-D " + shell_word(name + "=" + value));
  }
  for (const std::string& folder : launch.include_directories) {
    words.push_back("-I " + shell_word(folder));
  }
  for (const LaunchArgument& argument : launch.arguments) {
    words.push_back("--arg " + shell_word(argument.text));
  }
  for (const LaunchArgument& constant : launch.constants) {
    words.push_back("--constant " + shell_word(constant.text));
  }
  std::string head = "\n  " + hang(error.kernel(), 6, 76);
  if (!launch.guessed.empty()) {
    words.push_back("--guessed " + shell_word(fmt::format("{}", fmt::join(launch.guessed, ","))));
    head += "\n  " + hang(fmt::format("guessed, for the source does not say it: {}",
                                      fmt::join(launch.guessed, ", ")),
                          6, 76);
  }
  return head + "\n  for example:\n" + command_lines(words);
}

}  // namespace tilescope::report
