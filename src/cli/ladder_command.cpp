#include <fmt/format.h>

#include <algorithm>
#include <tilescope/device.hpp>

#include "base/signals.hpp"
#include "base/terminal.hpp"
#include "cli/command.hpp"
#include "cli/distributed_ladder.hpp"
#include "cli/shared_options.hpp"
#include "cli/show.hpp"
#include "inspect/open_device.hpp"
#include "inspect/rung_subject.hpp"
#include "measure/ladder.hpp"
#include "operations/registry.hpp"
#include "report/distributed_report.hpp"
#include "report/ladder_report.hpp"
#include "report/profile_report.hpp"

namespace tilescope::cli {
namespace {

constexpr std::string_view distributed_name = "distributed";

struct LadderCommand {
  std::string operation, device = "auto";
  Outputs outputs;
  std::vector<std::string> variants;
  ProblemOptions problem;
  DistributedOptions distributed;
  int samples = 9;
  bool list = false, profile = false;

  void declare(const Options& add) {
    std::vector<std::string_view> names;
    for (const auto& operation : operations::registered_operations())
      names.push_back(operation.name);
    names.emplace_back(distributed_name);
    add("OPERATION", operation, fmt::format("{}", fmt::join(names, ", ")));
    declare_problem(add, problem);
    distributed.declare(add);
    add("--device DEVICE", device, "auto, cuda, cuda:N, emulated or cpu", shown);
    add("--variant NAME", variants, "Only this rung (may be given several times)");
    add("--samples N", samples, "Timed runs per rung, at least", shown, within(1, 10000));
    add("--list", list, "List the rungs (without OPERATION: the operations) and exit");
    add("--profile", profile,
        "Add a profiler's table: calls, time and its share, traffic, efficiency, serialised warps");
    add.interpret();
    add.outputs(outputs);
  }

  int run() const {
    const bool is_distributed = operation == distributed_name;
    if (list) {
      show(operation.empty() ? report::operation_list_page()
           : is_distributed  ? report::distributed_list_page()
                             : rung_list(),
           outputs);
      return 0;
    }
    if (is_distributed) {
      return climb_distributed(problem, variants, samples, distributed, outputs);
    }
    if (operation.empty()) {
      throw Error(ErrorKind::usage, "OPERATION is required; tilescope ladder --list shows them");
    }
    const std::shared_ptr<Device> opened = inspect::open_for_kernels(device);
    const bool counted = opened->kind() == DeviceKind::emulated;
    const auto made = operations::make_operation(
        operation, counted ? inspect::emulated_size(operation, problem) : problem);
    std::vector<std::string> names;
    for (const std::string& name : variants) names.push_back(made->variant_name(name));
    if (device == "auto" && counted) {
      note(fmt::format("tilescope: no GPU found; {} counts instead (--device cuda says why)",
                       opened->id()));
    }
    const report::LadderContext context{
        .operation = std::string(operations::registered_operation(operation).name),
        .size = made->size_text(),
        .device_id = opened->id(),
        .device = opened->properties(),
        .work = made->work(),
        .seed = problem.seed,
        .counted = counted};
    const CancelScope cancel;
    ProgressLine progress("climbing");
    std::uint64_t done = 0;
    std::vector<measure::RungResult> results =
        measure::climb(*made, *opened,
                       {.only = names,
                        .timing = {.least_samples = samples},
                        .on_result = [&](const measure::RungResult&) { progress.update(++done); },
                        .cancel = CancelScope::flag()});
    if (profile && !counted) add_counts(*made, names, results);
    progress.erase();
    report::Page page = report::ladder_page(context, results);
    if (profile) report::add_profile(page, results);
    show(page, outputs);
    if (CancelScope::cancelled()) {
      note("tilescope: interrupted; the rungs above are complete");
      return CancelScope::exit_code();
    }
    const bool wrong =
        std::ranges::count(results, measure::Verdict::wrong, &measure::RungResult::verdict) > 0;
    return wrong ? static_cast<int>(ErrorKind::wrong_result) : 0;
  }

  // Emulates the rungs that a GPU has timed, for the counts; larger problems would take minutes.
  static void add_counts(const operations::Operation& made, const std::vector<std::string>& names,
                         std::vector<measure::RungResult>& results) {
    constexpr double most_flops = 5e8, most_bytes = 1 << 28;
    if (made.work().flops > most_flops || made.work().bytes > most_bytes) return;
    const std::shared_ptr<Device> emulated = Device::open("emulated");
    const std::vector<measure::RungResult> counted =
        measure::climb(made, *emulated, {.only = names, .cancel = CancelScope::flag()});
    for (std::size_t i = 0; i < std::min(results.size(), counted.size()); ++i) {
      if (counted[i].verdict == measure::Verdict::ok) results[i].counts = counted[i].counts;
    }
  }

  report::Page rung_list() const {
    // The names of the rungs depend on nothing else, and this problem is made at once.
    const ProblemOptions smallest{.size = 1, .precision = problem.precision};
    return report::rung_list_page(operations::registered_operation(operation).name,
                                  operations::make_operation(operation, smallest)->variants());
  }
};

}  // namespace

const Command ladder_command{
    "ladder", "Verify and time (or count) an operation's rungs", declare<LadderCommand>,
    "Every element is compared with a float64 reference before and after timing;\n"
    "operands are random and rotate through twice the L2 cache. Time is the median of\n"
    "at least 9 runs; \"x peer\" is the vendor's time over the rung's, \"x copy\" that of\n"
    "the device's own copy of as many bytes. Without a GPU kernels are emulated, at a\n"
    "small size unless one is given, and the table shows what a profiler counts.\n"
    "\"distributed\" is a product over many ranks: on the CPUs of mpirun's, beside what\n"
    "a model of the network predicts, or without mpirun on that model alone.",
    "tilescope ladder matmul --size 1024\n"
    "tilescope ladder matmul -m 1000 -n 999 -k 1001 --json -\n"
    "tilescope ladder saxpb --size 268435456\n"
    "tilescope ladder matmul --variant tiled_16 --variant tiled_32 --html page.html\n"
    "tilescope ladder saxpb --size 65536 --profile\n"
    "tilescope ladder distributed --ranks 256 --link 100 --html page.html\n"
    "mpirun -n 4 tilescope ladder distributed --size 4096"};

}  // namespace tilescope::cli
