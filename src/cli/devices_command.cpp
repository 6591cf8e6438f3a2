#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <tilescope/device.hpp>
#include <tilescope/gpu/gpu_table.hpp>

#include "cli/command.hpp"
#include "compile/compiler.hpp"
#include "report/device_report.hpp"
#include "report/gpu_report.hpp"

namespace tilescope::cli {
namespace {

struct DevicesCommand {
  std::string json, gpu;
  bool all = false;

  int run() const {
    if (!gpu.empty()) return run_gpu();
    if (all) return run_all();
    return run_present();
  }

  int run_gpu() const {
    const gpu::Gpu found = gpu::find_gpu(gpu);
    if (json != "-") print(report::gpu_text(found));
    write_json({{"version", 1}, {"command", "devices"}, {"gpus", {report::gpu_json(found)}}}, json);
    return 0;
  }

  int run_all() const {
    if (json != "-") print(report::gpu_table_text(gpu::gpu_table()));
    nlohmann::json gpus = nlohmann::json::array();
    for (const gpu::Gpu& known : gpu::gpu_table()) gpus.push_back(report::gpu_json(known));
    write_json({{"version", 1}, {"command", "devices"}, {"gpus", std::move(gpus)}}, json);
    return 0;
  }

  int run_present() const {
    std::string why;
    const std::vector<DeviceProperties> found = cuda_devices(&why);
    const DeviceProperties cpu = Device::open("cpu")->properties();
    const std::string compiler = compile::compiler_description();
    if (json != "-") {
      std::string text;
      for (std::size_t i = 0; i < found.size(); ++i) {
        text += report::device_text(fmt::format("cuda:{}", i), found[i]);
      }
      if (found.empty()) text += fmt::format("cuda: {}\n", why);
      text += report::device_text("cpu", cpu);
      text +=
          fmt::format("NVRTC: {}\n", compiler.empty() ? "not found; run tools/setup.sh" : compiler);
      print(text);
    }
    nlohmann::json devices = nlohmann::json::array();
    for (std::size_t i = 0; i < found.size(); ++i) {
      devices.push_back(report::device_json(fmt::format("cuda:{}", i), found[i]));
    }
    devices.push_back(report::device_json("cpu", cpu));
    write_json({{"version", 1},
                {"command", "devices"},
                {"devices", std::move(devices)},
                {"why_no_cuda", found.empty() ? nlohmann::json(why) : nlohmann::json()},
                {"nvrtc", compiler}},
               json);
    return 0;
  }
};

}  // namespace

void register_devices(CLI::App& app, std::function<int()>& run) {
  auto command = std::make_shared<DevicesCommand>();
  CLI::App* sub = app.add_subcommand("devices", "What devices there are, their limits and rates");
  sub->add_flag("--all", command->all, "The table of GPUs that calculations can be made for");
  sub->add_option("--gpu", command->gpu, "Everything about one of them, with sources")
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
