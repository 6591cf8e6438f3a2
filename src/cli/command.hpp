// A subcommand as the program sees it: options to parse, then a function to run.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

namespace tilescope::cli {

/// Adds one subcommand to `app`. If it is the chosen one, `run` is set to the function that does
/// the work and returns the exit code.
using Register = void (*)(CLI::App& app, std::function<int()>& run);

void register_matmul(CLI::App& app, std::function<int()>& run);
void register_saxpb(CLI::App& app, std::function<int()>& run);
void register_vector_add(CLI::App& app, std::function<int()>& run);
void register_scale(CLI::App& app, std::function<int()>& run);
void register_reverse(CLI::App& app, std::function<int()>& run);
void register_transpose(CLI::App& app, std::function<int()>& run);
void register_blur(CLI::App& app, std::function<int()>& run);
void register_laplacian(CLI::App& app, std::function<int()>& run);
void register_histogram(CLI::App& app, std::function<int()>& run);
void register_reduce(CLI::App& app, std::function<int()>& run);
void register_ladder(CLI::App& app, std::function<int()>& run);
void register_run(CLI::App& app, std::function<int()>& run);
void register_check(CLI::App& app, std::function<int()>& run);
void register_explain(CLI::App& app, std::function<int()>& run);
void register_devices(CLI::App& app, std::function<int()>& run);
void register_tune(CLI::App& app, std::function<int()>& run);
void register_transfer(CLI::App& app, std::function<int()>& run);
void register_occupancy(CLI::App& app, std::function<int()>& run);
void register_roofline(CLI::App& app, std::function<int()>& run);
void register_tiles(CLI::App& app, std::function<int()>& run);
void register_warps(CLI::App& app, std::function<int()>& run);
void register_banks(CLI::App& app, std::function<int()>& run);
void register_coalesce(CLI::App& app, std::function<int()>& run);
void register_dram(CLI::App& app, std::function<int()>& run);
void register_memories(CLI::App& app, std::function<int()>& run);

/// Adds --json FILE|- to a command.
void add_json_option(CLI::App& command, std::string& target);

/// For options of bytes: takes "1024", "64 MiB" or "2gb"; refuses 0, and negative numbers, which
/// would wrap around.
CLI::Validator byte_size();

/// For options of rates, times and clocks: refuses what is not finite or not above zero.
CLI::Validator positive_number();

/// Writes to standard output; throws Error(bad_input) if that fails (a full disk).
void print(const std::string& text);

/// Writes to standard error as it is.
void print_to_stderr(std::string_view text);

/// Writes a line to standard error.
void note(const std::string& line);

/// Warns on standard error if the kernel cache could not be written; the next run will recompile.
void tell_cache_failure();

}  // namespace tilescope::cli
