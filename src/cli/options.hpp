// The options of a subcommand: one line declares one option with its help, target and rules.
#pragma once

#include <CLI/CLI.hpp>
#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/outputs.hpp"

namespace tilescope::cli {

/// A rule for an option's values; the functions below are rules or return one.
using Rule = std::function<void(CLI::Option& option)>;

/// The command line must give the option.
void required(CLI::Option& option);
/// --help shows the default.
void shown(CLI::Option& option);
/// Takes one value each time it is given.
void one_at_a_time(CLI::Option& option);
/// Takes "1024", "64 MiB" or "2gb"; refuses 0, and negative numbers, which would wrap around.
void in_bytes(CLI::Option& option);
/// Refuses a rate, time or clock that is not finite or not above zero.
void positive(CLI::Option& option);
/// Refuses other words than these.
Rule one_of(std::vector<std::string> words);
/// The same for words that the option's text lists: the help does not list them again.
Rule one_of_listed(std::span<const std::string_view> words);
/// Refuses what is no whole number, decimal and without a plus.
void whole(CLI::Option& option);
/// Refuses what is no number, and one that would become 0 without being 0.
void real(CLI::Option& option);
/// Refuses numbers outside [`least`, `most`].
template <std::integral Number>
Rule within(Number least, Number most) {
  return [=](CLI::Option& option) {
    whole(option);  // first: for a range 1e3 is a value that is not in it
    option.check(CLI::Range(least, most));
  };
}
/// As within(0, most), without a word of it in --help.
Rule up_to(std::uint64_t most);

class Options {
 public:
  /// --help lists the options under the heading `group`; empty: CLI11's own.
  explicit Options(CLI::App& command, std::string group = "")
      : command_(command), group_(std::move(group)) {}
  Options in_group(std::string group) const { return Options(command_, std::move(group)); }

  std::string command_name() const { return command_.get_name(); }

  /// Declares an option. The last word of `names` is what --help calls its value: "--radius N",
  /// "-o,--output Y.npy". A positional argument is "X X.npy", or "TARGET" if the two are the same.
  template <typename Target, std::invocable<CLI::Option&>... Rules>
  CLI::Option* operator()(const std::string& names, Target& target, const std::string& help,
                          const Rules&... rules) const {
    const std::size_t space = names.rfind(' ');
    CLI::Option* option = command_.add_option(names.substr(0, space), target, help);
    option->type_name(names.substr(space + 1));
    if (!group_.empty()) option->group(group_);
    whole_if_so_named(*option);
    if constexpr (std::floating_point<Target>) real(*option);
    (rules(*option), ...);
    return option;
  }
  /// Declares a flag.
  void operator()(const std::string& name, bool& target, const std::string& help) const {
    CLI::Option* flag = command_.add_flag(name, target, help);
    if (!group_.empty()) flag->group(group_);
  }

  /// Declares --json FILE|-.
  void json(std::string& target) const;
  /// Declares --format NAME.
  void format(std::string& target) const;
  /// Declares --json and --html FILE.
  void outputs(Outputs& target) const;
  /// Declares --trace FILE.
  void trace(std::string& target) const;
  /// Declares --interpret: emulated launches of this process, and of programs that it starts, run
  /// without compiled code.
  void interpret() const;

 private:
  /// Refuses other values than whole numbers, decimal and without a sign, if the help calls them N
  /// or W.
  static void whole_if_so_named(CLI::Option& option);

  CLI::App& command_;
  std::string group_;
};

/// `command`: a subcommand that was parsed. Its options have no empty values: what an unset
/// variable of a shell leaves would be read as a zero, or as an option that was not given. The
/// files of --json, --html and --trace can be written, and are no other file that the command
/// names: that would be found only when the work is done, or not at all. Throws Error(usage), or
/// Error(bad_input) for a file.
void check_arguments(const CLI::App& command);

}  // namespace tilescope::cli
