#include <fmt/format.h>

#include <tilescope/device.hpp>
#include <tilescope/gpu/memories.hpp>

#include "cli/command.hpp"
#include "cli/reasoning_options.hpp"
#include "measure/memory_levels.hpp"
#include "report/memories_report.hpp"

namespace tilescope::cli {
namespace {

struct MemoriesCommand {
  ReasoningOptions options;
  std::string device;

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

void register_memories(CLI::App& app, std::function<int()>& run) {
  auto command = std::make_shared<MemoriesCommand>();
  CLI::App* sub = app.add_subcommand("memories", "Where a variable lives, and what it costs");
  sub->add_option("--device", command->device,
                  "Measure on this device (cuda, cuda:N) instead of showing published figures")
      ->type_name("DEVICE");
  command->options.add_to(*sub);
  sub->footer(
      "Examples:\n"
      "  tilescope memories --gpu a100\n"
      "  tilescope memories --device cuda --json memories.json");
  sub->callback([command, &run] { run = [command] { return command->run(); }; });
}

}  // namespace tilescope::cli
