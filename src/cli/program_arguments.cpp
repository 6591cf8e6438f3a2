#include "cli/program_arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <tilescope/error.hpp>

#include "base/file.hpp"
#include "inspect/program/program_sources.hpp"

namespace tilescope::cli {
namespace {

constexpr const char* nvcc_option = "--nvcc";
constexpr const char* program_argument = "--program-argument";

/// Whether nvcc takes the word: alone, or with a value behind "=" or in the same word.
bool is_for_nvcc(std::string_view word) {
  constexpr std::array exact = {"-w",
                                "-g",
                                "-G",
                                "-use_fast_math",
                                "--use_fast_math",
                                "-extended-lambda",
                                "-rdc",
                                "-fopenmp",
                                "--extended-lambda",
                                "--expt-extended-lambda",
                                "-expt-extended-lambda",
                                "--expt-relaxed-constexpr",
                                "-expt-relaxed-constexpr",
                                "-pthread",
                                "-lineinfo"};
  constexpr std::array begins = {"-l",
                                 "-L",
                                 "-std=",
                                 "--std=",
                                 "-O",
                                 "-U",
                                 "-rdc=",
                                 "--relocatable-device-code=",
                                 "-arch=",
                                 "--gpu-architecture=",
                                 "-maxrregcount=",
                                 "--maxrregcount=",
                                 "-fmad=",
                                 "--fmad=",
                                 "-ftz=",
                                 "-prec-div=",
                                 "-prec-sqrt=",
                                 "-default-stream=",
                                 "--default-stream=",
                                 "-Xcompiler=",
                                 "--compiler-options=",
                                 "-isystem=",
                                 "-ccbin=",
                                 "-W"};
  return std::find(exact.begin(), exact.end(), word) != exact.end() ||
         std::any_of(begins.begin(), begins.end(),
                     [&](std::string_view beginning) { return word.starts_with(beginning); });
}

/// Options of nvcc whose value is the next word.
bool takes_next_word(std::string_view word) {
  constexpr std::array options = {
      "-l",       "-L",   "-std", "-Xcompiler",      "-arch",           "-ccbin",
      "-isystem", "-rdc", "-O",   "-default-stream", "--default-stream"};
  return std::find(options.begin(), options.end(), word) != options.end();
}

std::string option_text(const char* option, const std::string& word) {
  return fmt::format("{}={}", option, word);
}

}  // namespace

void separate_program_words(std::vector<std::string>& words) {
  constexpr std::array commands = {"run", "check", "explain"};
  if (words.empty() ||
      std::find(commands.begin(), commands.end(), words.front()) == commands.end()) {
    return;
  }
  std::vector<std::string> separated;
  bool are_arguments = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (are_arguments) {
      separated.push_back(option_text(program_argument, word));
    } else if (word == "--") {
      are_arguments = true;
    } else if (takes_next_word(word) && i + 1 < words.size()) {
      separated.push_back(option_text(nvcc_option, word));
      separated.push_back(option_text(nvcc_option, words[++i]));
    } else {
      separated.push_back(is_for_nvcc(word) ? option_text(nvcc_option, word) : word);
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
  add(fmt::format("{} WORD", program_argument), arguments, "The same as a word after --",
      one_at_a_time, [](CLI::Option& option) { option.group(""); });
}

bool ProgramArguments::is_program(const std::string& target) const {
  if (target.ends_with(".ptx") || target.ends_with(".cuh")) return false;
  if (inspect::is_program_source(target)) {
    return has_main(target) ||
           std::any_of(more_words.begin(), more_words.end(), [](const auto& file) {
             return inspect::is_program_source(file) && has_main(file);
           });
  }
  std::error_code failed;
  return target.ends_with(".py") || std::filesystem::is_regular_file(target, failed);
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

void ProgramArguments::require_none(const std::string& target) const {
  const std::string* const first = !more_words.empty()         ? &more_words.front()
                                   : !compiler_options.empty() ? &compiler_options.front()
                                   : !arguments.empty()        ? &arguments.front()
                                                               : nullptr;
  if (first == nullptr) return;
  throw Error(ErrorKind::usage,
              fmt::format("{} is for a whole program, with a main() and without --kernel, --grid "
                          "and --arg; {} is run as a kernel",
                          quoted(*first), quoted(target)));
}

}  // namespace tilescope::cli
