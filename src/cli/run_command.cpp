#include <fmt/format.h>

#include <tilescope/run.hpp>

#include "cli/command.hpp"
#include "cli/show.hpp"
#include "cli/target_arguments.hpp"
#include "report/program_report.hpp"
#include "report/run_report.hpp"

namespace tilescope::cli {
namespace {

struct RunCommand {
  std::string file, device = "auto", json;
  LaunchArguments launch;
  ProgramArguments program;
  std::size_t show = 8;
  std::uint64_t max_instructions = 0;

  int run() const {
    InspectOptions options{
        .device = device, .max_instructions = max_instructions, .most_elements = show};
    // Kernels print data, but JSON on standard output is data too.
    if (json != "-") options.print = [](std::string_view text) { print(std::string(text)); };
    const RunResult result = inspect_target(launch, file, options, [&](const auto& how) {
      if (auto given = given_program(file, launch, program)) {
        given->output_to_stderr = json == "-";
        return tilescope::run(*given, {}, how);
      }
      if (is_kernel_file(file)) return tilescope::run(SourceFile{file}, launch.description(), how);
      return tilescope::run(LadderRung{.name = file}, {}, how);
    });
    if (result.program) return ended(result);
    cli::show(report::run_page(result), json);
    return result.failure.empty() ? 0 : failed(result);
  }

  /// A program has spoken for itself, and its exit code is the command's.
  int ended(const RunResult& result) const {
    const ProgramRun& run = *result.program;
    if (run.signal != 0) note(fmt::format("tilescope: {}: {}", file, report::end_in_words(run)));
    cli::show(report::program_page(result), json);
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

void register_run(CLI::App& app, std::function<int()>& run) {
  auto command = std::make_shared<RunCommand>();
  CLI::App* sub = app.add_subcommand("run", "Run a program or a kernel, with or without a GPU");
  sub->add_option("FILE", command->file,
                  "A program (.cu with a main(), an executable, a script), or a kernel in a .cu or "
                  ".ptx file")
      ->required()
      ->type_name("FILE");
  command->launch.add_to(*sub);
  command->program.add_to(*sub);
  sub->add_option("--device", command->device,
                  "auto (a GPU, else emulated), cuda[:N] or emulated[:GPU]")
      ->type_name("DEVICE")
      ->capture_default_str();
  sub->add_option("--show", command->show, "Elements to print of each array")
      ->check(CLI::Range(0, 1000000))
      ->type_name("N")
      ->capture_default_str();
  sub->add_option("--max-instructions", command->max_instructions,
                  "End an emulated run after N warp instructions")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 62U).description(""))
      ->type_name("N");
  add_json_option(*sub, command->json);
  sub->footer(
      "A program ends with its own exit code; words after -- are its arguments.\n"
      "\n"
      "Examples:\n"
      "  tilescope run vector_add.cu -- 1000\n"
      "  tilescope run scale.cu --grid 4 --block 256 --arg 'x=f32[1000]=iota>y.npy'\n"
      "      --arg f32:2.5 --arg i32:1000\n"
      "  tilescope run tile.cu --kernel 'matmul<16>' --launch launch.json");
  sub->callback([command, &run] { run = [command] { return command->run(); }; });
}

}  // namespace tilescope::cli
