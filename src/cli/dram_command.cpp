
#include "base/errors.hpp"
#include "cli/command.hpp"
#include "cli/shared_options.hpp"
#include "report/dram_report.hpp"

namespace tilescope::cli {
namespace {

struct DramCommand {
  ReasoningOptions options;
  report::DramContext given;
  double clock_mhz = 0.0, target_gb = 0.0;
  CLI::Option* prefetch_given = nullptr;
  CLI::Option* array_given = nullptr;

  void declare(const Options& add) {
    report::DramContext& c = given;
    c.banks = 4;
    add("--clock-mhz X", clock_mhz, "Clock of the interface", positive);
    add("--bus-bits N", c.bus_bits, "Width of the interface, or of one channel",
        within(1, 1 << 20));
    add("--transfers N", c.transfers_per_clock, "Transfers a clock (2: double data rate)", shown)
        ->check(CLI::PositiveNumber);
    add("--target-gb X", target_gb, "Target bandwidth in GB/s; gives the channels needed",
        positive);
    prefetch_given = add("--prefetch N", c.prefetch, "Transfers of one burst (4: GDDR3, 8: DDR3)",
                         within(1, 1024));
    array_given =
        add("--array-ns X", c.array_ns, "One access to the array, before its burst", positive);
    add("--banks N", c.banks, "Banks that take turns", shown, within(1, 1024));
    add("--latency-ns X", c.latency_ns, "Latency of a load (default: the GPU's, if known)",
        positive);
    add("--sms N", c.sm_count, "SMs that share the bandwidth (default: the GPU's)",
        within(1, 1 << 20));
    add("--bytes-per-thread N", c.bytes_per_thread, "Bytes that one load takes a thread", shown,
        within(1, 1024));
    add("--loads N", c.loads_per_warp, "Loads that one warp has in flight", shown, within(1, 1024));
    add("--used-bytes N", c.used_bytes, "Bytes used of each line in a random access", shown,
        within(1, 128));
    options.declare(add);
  }

  int run() const {
    const gpu::Gpu gpu = options.gpu();
    const DeviceProperties& p = gpu.properties;
    report::DramContext c = given;
    c.machine = p.name;
    c.clock_hz = clock_mhz > 0.0 ? clock_mhz * 1e6 : p.memory_clock_khz * 1e3;
    if (c.bus_bits == 0) c.bus_bits = p.memory_bus_bits;
    if (clock_mhz > 0.0 || given.bus_bits > 0) c.machine = "the given interface";
    if (!(c.clock_hz > 0.0) || c.bus_bits < 1) {
      throw usage_error("the memory of {} is not known: give --clock-mhz and --bus-bits", gpu.name);
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
      throw usage_error("--prefetch and --array-ns belong together");
    }
    return options.finish(report::dram_page(c));
  }
};

}  // namespace

const Command dram_command{"dram", "Bandwidth, bursts, banks, channels, Little's law",
                           declare<DramCommand>, "",
                           "tilescope dram --clock-mhz 1100 --bus-bits 64 --target-gb 141.7\n"
                           "tilescope dram --gpu gtx280 --prefetch 4 --array-ns 40 --banks 8\n"
                           "tilescope dram --gpu h200 --bytes-per-thread 16 --loads 2 --show"};

}  // namespace tilescope::cli
