#include <tilescope/gpu/roofline.hpp>

#include "base/errors.hpp"
#include "cli/command.hpp"
#include "cli/shared_options.hpp"
#include "operations/registry.hpp"
#include "report/roofline_report.hpp"

namespace tilescope::cli {
namespace {

struct RooflineCommand {
  ReasoningOptions options;
  std::string operation, results, rate;
  ProblemOptions problem;
  double flops = 0, bytes = 0, flop_per_byte = 0, peak_gflops = 0, bandwidth_gb = 0;
  CLI::Option *flops_given = nullptr, *bytes_given = nullptr;

  void declare(const Options& add) {
    add("OPERATION", operation, "An operation, such as matmul");
    declare_problem(add, problem);
    flops_given = add("--flops X", flops, "Floating-point operations", positive);
    bytes_given = add("--bytes X", bytes, "Bytes from and to memory", positive);
    add("--intensity X", flop_per_byte, "FLOP per byte", positive);
    add("--results FILE.json", results,
        "Add the points in a file of tilescope ladder --json or explain --json");
    add("--rate NAME", rate,
        "The ceiling: fp32, tf32_tensor, bf16_tensor, ... (default: that of the operation's "
        "--precision)");
    add("--peak-gflops X", peak_gflops, "A ceiling of your own, GFLOP/s", positive);
    add("--bandwidth-gb X", bandwidth_gb, "A bandwidth of your own, GB/s", positive);
    options.declare(add);
  }

  int run() const {
    report::RooflineContext context = machine();
    if (flops_given->count() + bytes_given->count() == 1) {
      throw usage_error("--flops and --bytes belong together");
    }
    if (flops_given->count() > 0) {
      context.points.push_back(report::counted_point("given", flops, bytes));
    }
    if (flop_per_byte > 0.0) {
      context.points.push_back({.name = "given", .intensity = flop_per_byte});
    }
    if (!operation.empty()) report::add_operation(context.points, operation, problem);
    if (!results.empty()) report::add_results(context.points, results);
    if (context.points.empty()) {
      throw usage_error(
          "nothing to compute: give OPERATION, --flops X --bytes X, --intensity X, or --results "
          "FILE.json");
    }
    return options.finish(report::roofline_page(context));
  }

  report::RooflineContext machine() const {
    const gpu::Gpu gpu = options.gpu();
    report::RooflineContext context{
        .machine = gpu.properties.name,
        .bytes_per_second = bandwidth_gb > 0 ? bandwidth_gb * 1e9 : gpu.bandwidth(),
        .ceilings = {},
        .points = {}};
    if (peak_gflops > 0) {
      context.ceilings.push_back({"given peak", peak_gflops * 1e9});
      context.machine = "the given machine";
    } else {
      const std::string chosen = ceiling(gpu);
      context.ceilings.push_back({chosen, gpu.roofline(chosen).flops_per_second});
      // A terminal can show two ceilings distinctly.
      const gpu::MathRate* const tensor = gpu.rate("tf32_tensor");
      if (tensor != nullptr && chosen != tensor->name) {
        context.ceilings.push_back({tensor->name, tensor->flops_per_second});
      }
    }
    gpu::make_roofline(context.bytes_per_second, context.ceilings.front().flops_per_second);
    return context;
  }

  // The requested ceiling, else that of the units that may compute the operation.
  std::string ceiling(const gpu::Gpu& gpu) const {
    if (!rate.empty()) return rate;
    if (operation.empty()) return "fp32";
    const std::string_view own = operations::make_operation(operation, problem)->work().rate;
    return gpu.rate(own) ? std::string(own) : "fp32";
  }
};

}  // namespace

const Command roofline_command{
    "roofline", "Arithmetic intensity, and the rate it allows", declare<RooflineCommand>, "",
    "tilescope roofline matmul --size 4096\n"
    "tilescope roofline --flops 2 --bytes 8 --gpu h100 --rate tf32_tensor --show\n"
    "tilescope roofline --intensity 0.25 --peak-gflops 1500 --bandwidth-gb 200\n"
    "tilescope ladder matmul --json l.json; tilescope roofline --results l.json"};

}  // namespace tilescope::cli
