#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tilescope/gpu/roofline.hpp>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "base/json_object.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/shared_options.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"
#include "operations/registry.hpp"
#include "report/roofline_report.hpp"

namespace tilescope::cli {
namespace {

using nlohmann::json;
using report::RooflinePoint;

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
      context.points.push_back({.name = "given",
                                .flops = flops,
                                .bytes = bytes,
                                .intensity = gpu::intensity(flops, bytes)});
    }
    if (flop_per_byte > 0.0) {
      context.points.push_back({.name = "given", .intensity = flop_per_byte});
    }
    if (!operation.empty()) add_operation(context.points);
    if (!results.empty()) add_results(context.points);
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
      for (const gpu::MathRate& other : gpu.rates) {
        // A terminal can show two ceilings distinctly.
        if (other.name != chosen && other.name == "tf32_tensor") {
          context.ceilings.push_back({other.name, other.flops_per_second});
        }
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

  // The operation with ideal reuse (every byte moved once), and for a product also with the reuse
  // of its tiles.
  void add_operation(std::vector<RooflinePoint>& points) const {
    const auto made = operations::make_operation(operation, problem);
    const operations::Work work = made->work();
    if (operation == "matmul") {
      // tile_intensity() assumes tiles of float32.
      const Precision precision = parse_precision(problem.precision.value_or("fp32"));
      const double scale = static_cast<double>(sizeof(float)) /
                           static_cast<double>(size_of(operations::operand_type(precision)));
      points.push_back(
          {.name = "untiled inner product", .intensity = scale * gpu::tile_intensity(1, 1)});
      for (const int width : {8, 16, 32, 128}) {
        points.push_back({.name = fmt::format("tiles of {} x {}", width, width),
                          .intensity = scale * gpu::tile_intensity(width, width)});
      }
    }
    points.push_back({.name = fmt::format("{} {}, ideal", operation, made->size_text()),
                      .flops = work.flops,
                      .bytes = work.bytes,
                      .intensity = gpu::intensity(work.flops, work.bytes)});
  }

  // Adds the results in a file of `ladder --json` or `explain --json`.
  void add_results(std::vector<RooflinePoint>& points) const {
    const std::string origin = quoted(results);
    const json document = parse_json_object(read_text_file(results), origin);
    const auto refuse = [&origin](std::string_view why) {
      throw input_error("{}: {}", origin, why);
    };
    const auto is = [](const json& object, const char* key, std::string_view value) {
      const auto found = object.find(key);
      return found != object.end() && found->is_string() && found->get<std::string>() == value;
    };
    if (is(document, "command", "ladder")) {
      const double all_flops = number_in(document, "flops", origin);
      const double all_bytes = number_in(document, "compulsory_bytes", origin);
      if (!(all_flops > 0.0) || !(all_bytes > 0.0) || !document.contains("rungs")) {
        refuse("no flops, compulsory_bytes and rungs, as tilescope ladder --json writes them");
      }
      for (const json& rung : document["rungs"]) {
        if (!rung.is_object()) refuse("\"rungs\": expected objects {...}");
        if (!is(rung, "verdict", "ok") || !rung.contains("flops_per_second")) continue;
        const json name = rung.value("name", json("?"));
        points.push_back(
            {.name = name.is_string() ? name.get<std::string>() : name.dump(),
             .flops = all_flops,
             .bytes = all_bytes,
             .intensity = gpu::intensity(all_flops, all_bytes),
             .measured_flops_per_second = number_in(rung, "flops_per_second", origin)});
      }
      return;
    }
    if (is(document, "command", "explain") && document.contains("totals")) {
      const json& totals = document["totals"];
      if (!totals.is_object()) refuse("\"totals\": expected an object {...}");
      const double sectors = number_in(totals, "global_load_sectors", origin) +
                             number_in(totals, "global_store_sectors", origin) +
                             number_in(totals, "global_reduction_sectors", origin);
      const double fma = number_in(totals, "ffma", origin);
      points.push_back({.name = "counted by explain",
                        .flops = 2.0 * fma,
                        .bytes = 32.0 * sectors,
                        .intensity = gpu::intensity(2.0 * fma, 32.0 * sectors)});
      return;
    }
    refuse("not a file of tilescope ladder --json or tilescope explain --json");
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
