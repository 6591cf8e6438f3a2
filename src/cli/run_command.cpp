#include <fmt/format.h>

#include <tilescope/run.hpp>

#include "cli/command.hpp"
#include "cli/show.hpp"
#include "cli/target_arguments.hpp"
#include "inspect/program/launch_selection.hpp"
#include "report/program_report.hpp"
#include "report/run_report.hpp"

namespace tilescope::cli {
namespace {

struct RunCommand {
  std::string file, device = "auto";
  Outputs outputs;
  LaunchArguments launch;
  ProgramArguments program;
  std::size_t show = 8;
  std::uint64_t max_instructions = 0;

  void declare(const Options& add) {
    add("FILE", file,
        "A program (.cu with a main(), an executable, a script), or a kernel in a .cu or .ptx file",
        required);
    launch.declare(add);
    program.declare(add);
    add("--device DEVICE", device, "auto (a GPU, else emulated), cuda[:N] or emulated[:GPU]",
        shown);
    add("--show N", show, "Elements to print of each array", shown, within(0, 1000000));
    add("--max-instructions N", max_instructions, "End an emulated run after N warp instructions",
        up_to(std::uint64_t{1} << 62U));
    add.interpret();
    add.outputs(outputs);
    add.trace(outputs.trace);
  }

  int run() const {
    InspectOptions options{.device = device,
                           .max_instructions = max_instructions,
                           .launches = program.watched(),
                           .trace = !outputs.trace.empty(),
                           .most_elements = show};
    // Kernels print data, but JSON on standard output is data too.
    if (outputs.json != "-")
      options.print = [](std::string_view text) { print(std::string(text)); };
    const RunResult result = inspect_target(launch, file, options, [&](const auto& how) {
      if (auto given = given_program(file, launch, program)) {
        given->output_to_stderr = outputs.json == "-";
        return tilescope::run(*given, {}, how);
      }
      if (is_kernel_file(file)) return tilescope::run(SourceFile{file}, launch.description(), how);
      return tilescope::run(LadderRung{.name = file}, {}, how);
    });
    write_trace(result, outputs);
    if (result.program) return ended(result);
    cli::show(report::run_page(result), outputs);
    return result.failure.empty() ? 0 : failed(result);
  }

  /// A program has spoken for itself, and its exit code is the command's.
  int ended(const RunResult& result) const {
    const ProgramRun& run = *result.program;
    if (run.signal != 0) note(fmt::format("tilescope: {}: {}", file, report::end_in_words(run)));
    cli::show(report::program_page(result), outputs);
    inspect::require_selected(result);
    return run.exit_code;
  }

  /// Says what the arrays are that have been shown.
  int failed(const RunResult& result) const {
    const bool interrupted = result.ran.ending == Ending::interrupted;
    note(fmt::format("tilescope: {}; the arrays are as it left them, and no file was written{}",
                     result.failure,
                     interrupted ? "" : fmt::format("; tilescope check {} says more", file)));
    return interrupted ? CancelScope::exit_code() : static_cast<int>(ErrorKind::wrong_result);
  }
};

}  // namespace

const Command run_command{
    "run", "Run a program or a kernel, with or without a GPU", declare<RunCommand>,
    "A program ends with its own exit code; words after -- are its arguments.",
    "tilescope run vector_add.cu -- 1000\n"
    "tilescope run scale.cu --grid 4 --block 256 --arg 'x=f32[1000]=iota>y.npy'\n"
    "    --arg f32:2.5 --arg i32:1000\n"
    "tilescope run filter.cu --grid 4 --block 256 --constant coef=f32[4]=ones\n"
    "    --arg '{f32[1024]=iota>y.npy, i32:1024}'\n"
    "tilescope run tile.cu --kernel 'matmul<16>' --launch launch.json"};

}  // namespace tilescope::cli
