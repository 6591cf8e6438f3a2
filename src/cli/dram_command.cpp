#include <fmt/format.h>

#include <tilescope/error.hpp>

#include "cli/command.hpp"
#include "cli/reasoning_options.hpp"
#include "report/dram_report.hpp"

namespace tilescope::cli {
namespace {

struct DramCommand {
  ReasoningOptions options;
  report::DramContext given;
  double clock_mhz = 0.0, target_gb = 0.0;
  CLI::Option* prefetch_given = nullptr;
  CLI::Option* array_given = nullptr;

  int run() const {
    const gpu::Gpu gpu = options.gpu();
    const DeviceProperties& p = gpu.properties;
    report::DramContext c = given;
    c.machine = p.name;
    c.clock_hz = clock_mhz > 0.0 ? clock_mhz * 1e6 : p.memory_clock_khz * 1e3;
    if (c.bus_bits == 0) c.bus_bits = p.memory_bus_bits;
    if (clock_mhz > 0.0 || given.bus_bits > 0) c.machine = "the given interface";
    if (!(c.clock_hz > 0.0) || c.bus_bits < 1) {
      throw Error(ErrorKind::usage, fmt::format("the memory of {} is not known: give --clock-mhz "
                                                "and --bus-bits",
                                                gpu.name));
    }
    c.wanted_bytes_per_second = target_gb * 1e9;
    if (c.sm_count == 0) c.sm_count = p.sm_count;
    c.warps_resident = p.max_threads_per_sm / p.warp_size;
    c.line_bytes = gpu.line_bytes;
    const gpu::LevelLatency* known = gpu.latency(gpu::MemoryLevel::dram);
    if (c.latency_ns == 0.0 && known != nullptr && p.core_clock_khz > 0) {
      c.latency_ns = known->cycles / (p.core_clock_khz * 1e-6);
    }
    if ((prefetch_given->count() > 0) != (array_given->count() > 0)) {
      throw Error(ErrorKind::usage, "--prefetch and --array-ns belong together");
    }
    return options.finish(report::dram_page(c));
  }
};

}  // namespace

void register_dram(CLI::App& app, std::function<int()>& run) {
  auto command = std::make_shared<DramCommand>();
  report::DramContext& c = command->given;
  c.banks = 4;
  CLI::App* sub = app.add_subcommand("dram", "Bandwidth, bursts, banks, channels, Little's law");
  sub->add_option("--clock-mhz", command->clock_mhz, "Clock of the interface")
      ->type_name("X")
      ->check(positive_number());
  sub->add_option("--bus-bits", c.bus_bits, "Width of the interface, or of one channel")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  sub->add_option("--transfers", c.transfers_per_clock, "Transfers a clock (2: double data rate)")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  sub->add_option("--target-gb", command->target_gb,
                  "Target bandwidth in GB/s; gives the channels needed")
      ->type_name("X")
      ->check(positive_number());
  command->prefetch_given =
      sub->add_option("--prefetch", c.prefetch, "Transfers of one burst (4: GDDR3, 8: DDR3)")
          ->type_name("N")
          ->check(CLI::Range(1, 1024));
  command->array_given =
      sub->add_option("--array-ns", c.array_ns, "One access to the array, before its burst")
          ->type_name("X")
          ->check(positive_number());
  sub->add_option("--banks", c.banks, "Banks that take turns")
      ->type_name("N")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  sub->add_option("--latency-ns", c.latency_ns, "Latency of a load (default: the GPU's, if known)")
      ->type_name("X")
      ->check(positive_number());
  sub->add_option("--sms", c.sm_count, "SMs that share the bandwidth (default: the GPU's)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  sub->add_option("--bytes-per-thread", c.bytes_per_thread, "Bytes that one load takes a thread")
      ->type_name("N")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  sub->add_option("--loads", c.loads_per_warp, "Loads that one warp has in flight")
      ->type_name("N")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  sub->add_option("--used-bytes", c.used_bytes, "Bytes used of each line in a random access")
      ->type_name("N")
      ->check(CLI::Range(1, 128))
      ->capture_default_str();
  command->options.add_to(*sub);
  sub->footer(
      "Examples:\n"
      "  tilescope dram --clock-mhz 1100 --bus-bits 64 --target-gb 141.7\n"
      "  tilescope dram --gpu gtx280 --prefetch 4 --array-ns 40 --banks 8\n"
      "  tilescope dram --gpu h200 --bytes-per-thread 16 --loads 2 --show");
  sub->callback([command, &run] { run = [command] { return command->run(); }; });
}

}  // namespace tilescope::cli
