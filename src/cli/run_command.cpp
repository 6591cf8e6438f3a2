#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/format.hpp"
#include "base/signals.hpp"
#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/launch_arguments.hpp"
#include "cli/user_kernel.hpp"
#include "device/emulated/emulated_device.hpp"
#include "report/run_report.hpp"

namespace tilescope::cli {
namespace {

struct RunCommand {
  std::string file, device = "auto", json;
  LaunchArguments launch;
  std::size_t show = 8;
  std::uint64_t max_instructions = 0;

  int run() const {
    if (!is_kernel_file(file)) {
      throw Error(ErrorKind::usage, fmt::format("run takes a .cu or .ptx file, not \"{}\"", file));
    }
    const inspect::LaunchDescription description = launch.description();
    std::string why;
    const std::shared_ptr<Device> opened = open_for_kernels(device, &why);
    if (opened->kind() == DeviceKind::cpu) {
      throw Error(ErrorKind::usage, "the cpu device runs no kernels; use --device emulated");
    }
    if (auto* emulated = dynamic_cast<device::EmulatedDevice*>(opened.get())) {
      emulated->set_options({.max_instructions = max_instructions,
                             .cancel = CancelScope::flag(),
                             .print = [this](std::string_view text) { show_print(text); }});
    }
    UserKernel kernel(*opened, file, description, launch.command);
    const CancelScope cancel;  // from here on: the compiler does not look at the flag
    double ms = 0.0;
    std::string failure;
    try {
      ms = kernel.run();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::wrong_result || on_gpu(*opened)) throw;
      failure = error.what();
    }
    const report::RunContext context{.kernel = kernel.kernel().name(),
                                     .launch = kernel.launch(),
                                     .device_id = opened->id(),
                                     .device = opened->properties(),
                                     .time_ms = on_gpu(*opened) ? std::optional(ms) : std::nullopt};
    std::vector<inspect::ArraySummary> arrays = kernel.arrays().summaries(show);
    if (failure.empty()) {
      kernel.arrays().save();
    } else {
      for (inspect::ArraySummary& array : arrays) array.saved_to.clear();
    }
    if (json != "-") print(report::run_text(context, arrays));
    nlohmann::json result = report::run_json(context, arrays);
    result["complete"] = failure.empty();
    if (!failure.empty()) result["failure"] = failure;
    write_json(result, json);
    return failure.empty() ? 0 : failed(failure);
  }

  static bool on_gpu(const Device& device) { return device.kind() == DeviceKind::cuda; }

  /// Says what the arrays are that have been shown. What was run until then is not saved.
  int failed(const std::string& failure) const {
    const bool interrupted = CancelScope::flag()->load();
    fmt::print(stderr, "tilescope: {}; the arrays are as it left them, and no file was written{}\n",
               failure, interrupted ? "" : fmt::format("; tilescope check {} says more", file));
    return interrupted ? CancelScope::exit_code() : static_cast<int>(ErrorKind::wrong_result);
  }

  // What kernels print is data, but so is JSON on standard output.
  void show_print(std::string_view text) const {
    if (json == "-") {
      fmt::print(stderr, "{}", text);
    } else {
      print(std::string(text));
    }
  }
};

}  // namespace

void register_run(CLI::App& app, std::function<int()>& run) {
  auto command = std::make_shared<RunCommand>();
  CLI::App* sub = app.add_subcommand("run", "Run a kernel of your own, with or without a GPU");
  sub->add_option("FILE", command->file, "CUDA C++ (.cu) or PTX (.ptx)")
      ->required()
      ->type_name("FILE");
  command->launch.add_to(*sub);
  sub->add_option("--device", command->device,
                  "auto (a GPU, else emulated), cuda[:N] or emulated[:GPU]")
      ->type_name("DEVICE")
      ->capture_default_str();
  sub->add_option("--show", command->show, "Elements to print of each array")
      ->check(CLI::Range(0, 1000000))
      ->type_name("N")
      ->capture_default_str();
  sub->add_option("--max-instructions", command->max_instructions,
                  "End an emulated run after so many warp instructions")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 62U).description(""))
      ->type_name("N");
  add_json_option(*sub, command->json);
  sub->footer(
      "Examples:\n"
      "  tilescope run scale.cu --grid 4 --block 256 --arg 'x=f32[1000]=iota>y.npy'\n"
      "      --arg f32:2.5 --arg i32:1000\n"
      "  tilescope run tile.cu --kernel 'matmul<16>' --launch launch.json");
  sub->callback([command, &run] { run = [command] { return command->run(); }; });
}

}  // namespace tilescope::cli
