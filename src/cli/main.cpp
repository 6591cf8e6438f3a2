// tilescope: parses the command line, runs one subcommand, maps errors to exit codes.

#include <CLI/CLI.hpp>
#include <exception>
#include <functional>
#include <new>
#include <tilescope/error.hpp>

#include "base/signals.hpp"
#include "cli/command.hpp"

namespace {

using namespace tilescope;

constexpr int usage_exit = static_cast<int>(ErrorKind::usage);

constexpr cli::Register commands[] = {cli::register_matmul, cli::register_ladder,
                                      cli::register_devices, cli::register_transfer};

}  // namespace

int main(int argc, char** argv) {
  install_signal_handlers();
  CLI::App app{"GPU kernels you can see through: compute, see, measure."};
  app.set_version_flag("--version", "tilescope " TILESCOPE_VERSION);
  app.require_subcommand(1);
  app.fallthrough(false);
  app.footer(
      "Exit codes: 0 ok, 1 wrong result or defects found, 2 usage, 3 no usable device,\n"
      "4 bad input file or format.\n"
      "\n"
      "Examples:\n"
      "  tilescope matmul A.npy B.npy -o C.npy\n"
      "  tilescope ladder matmul --size 1024\n"
      "  tilescope COMMAND --help");
  std::function<int()> run;
  for (const cli::Register add : commands) add(app, run);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
    cli::note(std::string("tilescope: ") + error.what() + "; see tilescope --help");
    return usage_exit;
  }
  try {
    return run();
  } catch (const Error& error) {
    cli::note(std::string("tilescope: ") + error.what());
    return error.exit_code();
  } catch (const std::bad_alloc&) {
    cli::note("tilescope: out of host memory; use a smaller problem");
    return static_cast<int>(ErrorKind::no_device);
  } catch (const std::exception& error) {
    cli::note(std::string("tilescope: internal error: ") + error.what());
    return static_cast<int>(ErrorKind::wrong_result);
  }
}
