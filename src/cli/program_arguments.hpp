// Whole programs on the command line of run, check and explain.
#pragma once

#include <string>
#include <tilescope/program.hpp>
#include <vector>

#include "cli/options.hpp"

namespace tilescope::cli {

/// Makes ready for the parser the words that belong to a program and not to tilescope: options of
/// nvcc become --nvcc=OPTION, and the words after "--" become --program-argument=WORD. `words` is
/// the command line, the name of the subcommand first; other subcommands than those three are left
/// alone.
void separate_program_words(std::vector<std::string>& words);

struct ProgramArguments {
  std::vector<std::string> more_words;  ///< positional ones after the target
  std::vector<std::string> compiler_options, arguments;
  std::string launches;  ///< as parse_launch_ranges() takes it

  void declare(const Options& add);
  /// The program that `target` is the first file of, with the values of -D and -I.
  Program program(const std::string& target, const std::vector<std::string>& defines,
                  const std::vector<std::string>& includes) const;
  /// The launches to watch; empty: all.
  std::vector<LaunchRange> watched() const;
  /// All words that only a program takes.
  std::vector<std::string> words() const;
  /// Throws Error(usage) if there are any.
  void require_none(const std::string& target) const;
};

}  // namespace tilescope::cli
