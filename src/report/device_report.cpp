#include "report/device_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/format.hpp"

namespace tilescope::report {
namespace {

std::string extent(const Dim3& d) {
  return fmt::format("{} x {} x {}", format_count(d.x), format_count(d.y), format_count(d.z));
}

}  // namespace

std::string device_text(const std::string& id, const DeviceProperties& d) {
  std::string text = fmt::format("{}: {}\n", id, d.name);
  const auto line = [&text](std::string_view what, const std::string& value) {
    text += fmt::format("  {:<38} {}\n", what, value);
  };
  if (d.compute_major == 0) {
    line("Cores", format_count(d.sm_count));
    line("Memory", format_bytes(d.global_bytes));
    return text;
  }
  line("Compute capability", fmt::format("{}.{}", d.compute_major, d.compute_minor));
  line("SMs", format_count(d.sm_count));
  line("Warp size", format_count(d.warp_size));
  line("Threads per block, at most", format_count(d.max_threads_per_block));
  line("Block extents, at most", extent(d.max_block));
  line("Grid extents, at most", extent(d.max_grid));
  line("Threads per SM, at most", format_count(d.max_threads_per_sm));
  line("Blocks per SM, at most", format_count(d.max_blocks_per_sm));
  line("Registers per block / per SM", fmt::format("{} / {}", format_count(d.registers_per_block),
                                                   format_count(d.registers_per_sm)));
  line("Shared memory per block",
       fmt::format("{}, {} by opting in", format_bytes(d.shared_bytes_per_block),
                   format_bytes(d.shared_bytes_per_block_optin)));
  line("Shared memory per SM", format_bytes(d.shared_bytes_per_sm));
  line("Constant memory", format_bytes(d.constant_bytes));
  line("L2 cache", format_bytes(d.l2_bytes));
  line("Global memory", format_bytes(d.global_bytes));
  line("Core clock", fmt::format("{:.0f} MHz", d.core_clock_khz / 1e3));
  line("Memory clock, bus", fmt::format("{:.0f} MHz, {} bits", d.memory_clock_khz / 1e3,
                                        format_count(d.memory_bus_bits)));
  line("Peak FP32", d.peak_fp32() > 0 ? format_rate(d.peak_fp32(), "FLOP/s") : "not known");
  line("Peak memory bandwidth",
       d.peak_bandwidth() > 0 ? format_rate(d.peak_bandwidth(), "B/s") : "not known");
  line("Copy engines", format_count(d.copy_engines));
  line("Concurrent kernels", d.concurrent_kernels ? "yes" : "no");
  line("Copies overlap kernels", d.copy_engines > 0 ? "yes" : "no");
  return text;
}

nlohmann::json device_json(const std::string& id, const DeviceProperties& d) {
  const auto extents = [](const Dim3& e) { return nlohmann::json{e.x, e.y, e.z}; };
  return {{"id", id},
          {"name", d.name},
          {"compute_capability", fmt::format("{}.{}", d.compute_major, d.compute_minor)},
          {"sm_count", d.sm_count},
          {"warp_size", d.warp_size},
          {"max_threads_per_block", d.max_threads_per_block},
          {"max_block", extents(d.max_block)},
          {"max_grid", extents(d.max_grid)},
          {"max_threads_per_sm", d.max_threads_per_sm},
          {"max_blocks_per_sm", d.max_blocks_per_sm},
          {"registers_per_block", d.registers_per_block},
          {"registers_per_sm", d.registers_per_sm},
          {"shared_bytes_per_block", d.shared_bytes_per_block},
          {"shared_bytes_per_block_optin", d.shared_bytes_per_block_optin},
          {"shared_bytes_per_sm", d.shared_bytes_per_sm},
          {"constant_bytes", d.constant_bytes},
          {"l2_bytes", d.l2_bytes},
          {"global_bytes", d.global_bytes},
          {"core_clock_khz", d.core_clock_khz},
          {"memory_clock_khz", d.memory_clock_khz},
          {"memory_bus_bits", d.memory_bus_bits},
          {"peak_fp32_flops_per_second", d.peak_fp32()},
          {"peak_bandwidth_bytes_per_second", d.peak_bandwidth()},
          {"copy_engines", d.copy_engines},
          {"concurrent_kernels", d.concurrent_kernels},
          {"copies_overlap_kernels", d.copy_engines > 0}};
}

}  // namespace tilescope::report
