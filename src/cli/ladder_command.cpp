#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tilescope/device.hpp>

#include "base/signals.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "measure/ladder.hpp"
#include "operations/matmul/matmul_operation.hpp"
#include "operations/matmul/variants.hpp"
#include "report/ladder_report.hpp"

namespace tilescope::cli {
namespace {

struct LadderCommand {
  std::string operation, device = "auto", json;
  std::vector<std::string> variants;
  SizeOptions size;
  std::uint64_t seed = 1;
  int samples = 9;
  bool list = false;

  int run() const {
    if (list) return print_list();
    for (const std::string& name : variants) operations::matmul_variant(name);
    std::string why;
    const std::shared_ptr<Device> opened = Device::open(device, &why);
    if (device == "auto" && opened->kind() == DeviceKind::cpu) {
      note("tilescope: " + why);
    }
    const operations::MatmulOperation problem(size.shape(), seed);
    const report::LadderContext context{.operation = operation,
                                        .size = problem.size_text(),
                                        .device_id = opened->id(),
                                        .device = opened->properties(),
                                        .work = problem.work(),
                                        .seed = seed};
    const CancelScope cancel;
    ProgressLine progress("climbing");
    std::uint64_t done = 0;
    const std::vector<measure::RungResult> results =
        measure::climb(problem, *opened,
                       {.only = canonical_names(),
                        .timing = {.least_samples = samples},
                        .on_result = [&](const measure::RungResult&) { progress.update(++done); },
                        .cancelled = CancelScope::cancelled});
    progress.erase();
    if (json != "-") {
      const double peer = report::peer_ms(results);
      std::string text = report::ladder_head(context);
      for (const measure::RungResult& result : results) text += report::ladder_row(result, peer);
      print(text + report::ladder_foot(results));
    }
    write_json(report::ladder_json(context, results), json);
    if (CancelScope::cancelled()) {
      note("tilescope: interrupted; the rungs above are complete");
      return 130;
    }
    const bool wrong = std::any_of(results.begin(), results.end(), [](const auto& result) {
      return result.verdict == measure::Verdict::wrong;
    });
    return wrong ? static_cast<int>(ErrorKind::wrong_result) : 0;
  }

  std::vector<std::string> canonical_names() const {
    std::vector<std::string> names;
    for (const std::string& name : variants) names.push_back(operations::matmul_variant(name).name);
    return names;
  }

  int print_list() const {
    std::string text;
    for (const operations::MatmulVariant& variant : operations::matmul_variants()) {
      text +=
          fmt::format("{:<24} {:<44} {}\n", variant.name, variant.row->idea, variant.row->source);
    }
    print(text);
    return 0;
  }
};

}  // namespace

void register_ladder(CLI::App& app, std::function<int()>& run) {
  auto command = std::make_shared<LadderCommand>();
  CLI::App* sub =
      app.add_subcommand("ladder", "Verify, time and compare every rung of an operation");
  sub->add_option("OPERATION", command->operation, "matmul")
      ->required()
      ->check(CLI::IsMember({"matmul"}))
      ->type_name("OPERATION");
  command->size.add_to(*sub, 1024);
  sub->add_option("--device", command->device, "auto, cuda, cuda:N, emulated or cpu")
      ->type_name("DEVICE")
      ->capture_default_str();
  sub->add_option("--variant", command->variants, "Only this rung (may be given several times)")
      ->type_name("NAME");
  sub->add_option("--seed", command->seed, "Seed of the random operands")
      ->type_name("N")
      ->capture_default_str();
  sub->add_option("--samples", command->samples, "Timed runs per rung, at least")
      ->check(CLI::Range(1, 10000))
      ->type_name("N")
      ->capture_default_str();
  sub->add_flag("--list", command->list, "List the rungs and exit");
  add_json_option(*sub, command->json);
  sub->footer(
      "Every element is compared with a float64 reference before and after timing; operands\n"
      "are random in [-1, 1] and rotate through twice the L2 cache. Time is the median of\n"
      "at least 9 runs; \"x peer\" is the vendor's time over the rung's.\n"
      "\n"
      "Examples:\n"
      "  tilescope ladder matmul --size 1024\n"
      "  tilescope ladder matmul -m 1000 -n 999 -k 1001 --json -\n"
      "  tilescope ladder matmul --variant tiled_16 --variant tiled_32");
  sub->callback([command, &run] { run = [command] { return command->run(); }; });
}

}  // namespace tilescope::cli
