#include "cli/program_arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "compile/nvcc.hpp"
#include "inspect/program/program_sources.hpp"

namespace tilescope::cli {
namespace {

constexpr const char* nvcc_option = "--nvcc";
constexpr const char* program_argument = "--program-argument";

}  // namespace

void separate_program_words(std::vector<std::string>& words) {
  constexpr std::array commands = {"run", "check", "explain"};
  if (words.empty() || std::ranges::find(commands, words.front()) == commands.end()) return;
  std::vector<std::string> separated;
  const auto add = [&](const char* option, const std::string& word) {
    separated.push_back(fmt::format("{}={}", option, word));
  };
  bool are_arguments = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (are_arguments) {
      add(program_argument, word);
    } else if (word == "--") {
      are_arguments = true;
    } else if (const bool two = compile::takes_next_word(word) && i + 1 < words.size();
               two || compile::is_nvcc_option(word)) {
      add(nvcc_option, word);
      if (two) add(nvcc_option, words[++i]);
    } else {
      separated.push_back(word);
    }
  }
  words = std::move(separated);
}

void ProgramArguments::declare(const Options& add) {
  add("MORE FILE", more_words,
      "Further sources of a program (.cu, .cpp, .c), or arguments of an executable");
  add.in_group("Program")(
      fmt::format("{} OPTION", nvcc_option), compiler_options,
      "An option for nvcc; -l, -L, -std, -O, --use_fast_math, -rdc=true and their like are "
      "understood by themselves",
      one_at_a_time);
  add.in_group("Program")("--launches LIST", launches,
                          "Watch only these launches, from 0: 1-3,scale:2 is launches 1 to 3 and "
                          "the third of kernel scale; the others run at full speed");
  add(fmt::format("{} WORD", program_argument), arguments, "The same as a word after --",
      one_at_a_time, [](CLI::Option& option) { option.group(""); });
}

Program ProgramArguments::program(const std::string& target,
                                  const std::vector<std::string>& defines,
                                  const std::vector<std::string>& includes) const {
  Program program{.files = {target}, .compiler_options = compiler_options};
  for (const std::string& define : defines) program.compiler_options.push_back("-D" + define);
  for (const std::string& folder : includes) program.compiler_options.push_back("-I" + folder);
  // An executable takes no further files.
  auto& rest = inspect::is_program_source(target) ? program.files : program.arguments;
  rest.insert(rest.end(), more_words.begin(), more_words.end());
  program.arguments.insert(program.arguments.end(), arguments.begin(), arguments.end());
  return program;
}

std::vector<LaunchRange> ProgramArguments::watched() const {
  return launches.empty() ? std::vector<LaunchRange>{} : parse_launch_ranges(launches);
}

std::vector<std::string> ProgramArguments::words() const {
  std::vector<std::string> all = more_words;
  all.insert(all.end(), compiler_options.begin(), compiler_options.end());
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

void ProgramArguments::require_none(const std::string& target) const {
  const std::vector<std::string> words = this->words();
  const std::string given = !words.empty() ? words.front() : launches.empty() ? "" : "--launches";
  if (given.empty()) return;
  throw usage_error(
      "{} is for a whole program, with a main() and without --kernel, --grid and --arg; {} is run "
      "as a kernel",
      quoted(given), quoted(target));
}

}  // namespace tilescope::cli
