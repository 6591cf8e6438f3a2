#include <fmt/format.h>

#include <tilescope/device.hpp>
#include <tilescope/gpu/gpu_table.hpp>

#include "cli/command.hpp"
#include "cli/show.hpp"
#include "compile/compiler.hpp"
#include "report/device_report.hpp"
#include "report/gpu_report.hpp"

namespace tilescope::cli {
namespace {

struct DevicesCommand {
  std::string json, gpu;
  bool all = false;

  int run() const {
    show(!gpu.empty() ? report::gpu_page(gpu::find_gpu(gpu))
         : all        ? report::gpu_table_page(gpu::gpu_table())
                      : present(),
         json);
    return 0;
  }

  static report::Page present() {
    report::Page page("devices");
    std::string why;
    const std::vector<DeviceProperties> found = cuda_devices(&why);
    const DeviceProperties cpu = Device::open("cpu")->properties();
    const std::string compiler = compile::compiler_description();
    report::List devices;
    for (std::size_t i = 0; i < found.size(); ++i) {
      devices.push_back(report::device_record(fmt::format("cuda:{}", i), found[i]));
      report::add_device(page, fmt::format("cuda:{}", i), found[i]);
    }
    devices.push_back(report::device_record("cpu", cpu));
    page.data = {{"devices", std::move(devices)},
                 {"why_no_cuda", found.empty() ? report::Value(why) : report::Value()},
                 {"nvrtc", compiler}};
    if (found.empty()) page.say("cuda: {why_no_cuda}");
    report::add_device(page, "cpu", cpu);
    page.say(compiler.empty() ? "NVRTC: not found; run tools/setup.sh" : "NVRTC: {nvrtc}");
    return page;
  }
};

}  // namespace

void register_devices(CLI::App& app, std::function<int()>& run) {
  auto command = std::make_shared<DevicesCommand>();
  CLI::App* sub = app.add_subcommand("devices", "List devices, their limits and rates");
  sub->add_flag("--all", command->all, "List the GPUs for which calculations work");
  sub->add_option("--gpu", command->gpu, "Show everything about one of them, with sources")
      ->type_name("NAME|FILE.json");
  add_json_option(*sub, command->json);
  sub->footer(
      "Examples:\n"
      "  tilescope devices\n"
      "  tilescope devices --all\n"
      "  tilescope devices --gpu gtx280\n"
      "  tilescope devices --json -");
  sub->callback([command, &run] { run = [command] { return command->run(); }; });
}

}  // namespace tilescope::cli
