#include <fmt/format.h>

#include <tilescope/device.hpp>
#include <tilescope/gpu/memories.hpp>

#include "cli/command.hpp"
#include "cli/shared_options.hpp"
#include "measure/memory_levels.hpp"
#include "report/memories_report.hpp"

namespace tilescope::cli {
namespace {

struct MemoriesCommand {
  ReasoningOptions options;
  std::string device;

  void declare(const Options& add) {
    add("--device DEVICE", device,
        "Measure on this device (cuda, cuda:N) instead of showing published figures");
    options.declare(add);
  }

  int run() const {
    if (device.empty()) {
      const gpu::Gpu gpu = options.gpu();
      return options.finish(report::memories_page(gpu.properties.name, gpu::level_costs(gpu)));
    }
    const std::shared_ptr<Device> opened = Device::open(device);
    return options.finish(
        report::memories_page(fmt::format("{} ({})", opened->properties().name, opened->id()),
                              measure::measure_levels(*opened)));
  }
};

}  // namespace

const Command memories_command{"memories", "Where a variable lives, and what it costs",
                               declare<MemoriesCommand>, "",
                               "tilescope memories --gpu a100\n"
                               "tilescope memories --device cuda --json memories.json"};

}  // namespace tilescope::cli
