#include <fmt/format.h>

#include <tilescope/run.hpp>

#include "cli/command.hpp"
#include "cli/show.hpp"
#include "cli/target_arguments.hpp"
#include "report/run_report.hpp"

namespace tilescope::cli {
namespace {

struct RunCommand {
  std::string file, device = "auto", json;
  LaunchArguments launch;
  std::size_t show = 8;
  std::uint64_t max_instructions = 0;

  void declare(const Options& add) {
    add("FILE", file, "CUDA C++ (.cu) or PTX (.ptx)", required);
    launch.declare(add);
    add("--device DEVICE", device, "auto (a GPU, else emulated), cuda[:N] or emulated[:GPU]",
        shown);
    add("--show N", show, "Elements to print of each array", shown, within(0, 1000000));
    add("--max-instructions N", max_instructions, "End an emulated run after N warp instructions",
        up_to(std::uint64_t{1} << 62U));
    add.json(json);
  }

  int run() const {
    InspectOptions options{
        .device = device, .max_instructions = max_instructions, .most_elements = show};
    // Kernels print data, but JSON on standard output is data too.
    if (json != "-") options.print = [](std::string_view text) { print(std::string(text)); };
    const RunResult result = inspect_target(launch, file, options, [&](const auto& how) {
      if (is_kernel_file(file)) return tilescope::run(SourceFile{file}, launch.description(), how);
      return tilescope::run(LadderRung{.name = file}, {}, how);
    });
    cli::show(report::run_page(result), json);
    return result.failure.empty() ? 0 : failed(result);
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
    "run", "Run a kernel of your own, with or without a GPU", declare<RunCommand>, "",
    "tilescope run scale.cu --grid 4 --block 256 --arg 'x=f32[1000]=iota>y.npy'\n"
    "    --arg f32:2.5 --arg i32:1000\n"
    "tilescope run tile.cu --kernel 'matmul<16>' --launch launch.json"};

}  // namespace tilescope::cli
