// A subcommand as the program sees it: options to parse, then a function to run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cli/options.hpp"

namespace tilescope::cli {

/// A row of the program's table of subcommands.
struct Command {
  const char* name;
  const char* summary;
  /// Declares the options. If the subcommand is the chosen one, `run` is set to the function that
  /// does the work and returns the exit code.
  void (*declare)(CLI::App& subcommand, std::function<int()>& run);
  const char* notes;     ///< at the end of its --help; may be empty
  const char* examples;  ///< command lines; a further line of one is indented
};

/// A Command's `declare` for a type with options as members, void declare(const Options& add) for
/// them, and int run().
template <typename Work>
void declare(CLI::App& subcommand, std::function<int()>& run) {
  const auto work = std::make_shared<Work>();
  work->declare(Options(subcommand));
  subcommand.callback([work, &run] { run = [work] { return work->run(); }; });
}

extern const Command check_command, explain_command, run_command, compare_command;
extern const Command matmul_command, saxpb_command, vector_add_command, scale_command,
    reverse_command, transpose_command, blur_command, laplacian_command, histogram_command,
    reduce_command;
extern const Command ladder_command, tune_command, transfer_command, devices_command;
extern const Command occupancy_command, roofline_command, tiles_command, warps_command,
    banks_command, coalesce_command, dram_command, memories_command;

}  // namespace tilescope::cli
