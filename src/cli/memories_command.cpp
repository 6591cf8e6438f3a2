#include <fmt/format.h>

#include <nlohmann/json.hpp>
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
    std::string machine;
    std::vector<gpu::LevelCost> costs;
    report::Steps steps;
    if (device.empty()) {
      const gpu::Gpu gpu = options.gpu();
      machine = gpu.properties.name;
      costs = gpu::level_costs(gpu);
    } else {
      const std::shared_ptr<Device> opened = Device::open(device);
      machine = fmt::format("{} ({})", opened->properties().name, opened->id());
      costs = measure::measure_levels(*opened);
    }
    for (const gpu::LevelCost& cost : costs) {
      if (cost.latency_cycles > 0.0 && cost.latency_ns > 0.0) {
        steps.add(std::string(name_of(cost.level)),
                  fmt::format("{:.1f} cycles / {:.3f} cycles a ns = {:.1f} ns ({})",
                              cost.latency_cycles, cost.latency_cycles / cost.latency_ns,
                              cost.latency_ns, cost.latency_source));
      }
      if (!cost.bandwidth_source.empty()) {
        steps.add(fmt::format("{}, bandwidth", name_of(cost.level)), cost.bandwidth_source);
      }
    }
    options.finish("memories", report::memories_text(machine, costs), steps,
                   report::memories_json(machine, costs));
    return 0;
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
