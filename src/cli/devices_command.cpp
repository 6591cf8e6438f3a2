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

  void declare(const Options& add) {
    add("--all", all, "List the GPUs for which calculations work");
    add("--gpu NAME|FILE.json", gpu, "Show everything about one of them, with sources");
    add.json(json);
  }

  int run() const {
    show(!gpu.empty() ? report::gpu_page(gpu::find_gpu(gpu))
         : all        ? report::gpu_table_page(gpu::gpu_table())
                      : present(),
         {json});
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

const Command devices_command{"devices", "List devices, their limits and rates",
                              declare<DevicesCommand>, "",
                              "tilescope devices\n"
                              "tilescope devices --all\n"
                              "tilescope devices --gpu gtx280\n"
                              "tilescope devices --json -"};

}  // namespace tilescope::cli
