#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <tilescope/device.hpp>

#include "cli/command.hpp"
#include "compile/compiler.hpp"
#include "report/device_report.hpp"

namespace tilescope::cli {
namespace {

struct DevicesCommand {
  std::string json;

  int run() const {
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
  add_json_option(*sub, command->json);
  sub->footer("Examples:\n  tilescope devices\n  tilescope devices --json -");
  sub->callback([command, &run] { run = [command] { return command->run(); }; });
}

}  // namespace tilescope::cli
