#include "report/device_report.hpp"

#include <fmt/format.h>

namespace tilescope::report {

Record device_record(const std::string& id, const DeviceProperties& d) {
  return {{"id", id},
          {"name", d.name},
          {"compute_capability", fmt::format("{}.{}", d.compute_major, d.compute_minor)},
          {"sm_count", d.sm_count},
          {"warp_size", d.warp_size},
          {"max_threads_per_block", d.max_threads_per_block},
          {"max_block", d.max_block},
          {"max_grid", d.max_grid},
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

void add_device(Page& page, const std::string& id, const DeviceProperties& d) {
  Record r = device_record(id, d);
  r.let("core_mhz", d.core_clock_khz / 1e3).let("memory_mhz", d.memory_clock_khz / 1e3);
  r.let("peak_fp32", known(d.peak_fp32())).let("peak_bandwidth", known(d.peak_bandwidth()));
  page.add(Text{r.fill("{id}: {name}")});
  page.facts(38);
  if (d.compute_major == 0) {
    page.fact("Cores", "{sm_count}", r);
    page.fact("Memory", "{global_bytes}", r);
    return;
  }
  page.fact("Compute capability", "{compute_capability}", r);
  page.fact("SMs", "{sm_count}", r);
  page.fact("Warp size", "{warp_size}", r);
  page.fact("Threads per block, at most", "{max_threads_per_block}", r);
  page.fact("Block extents, at most", "{max_block:extents}", r);
  page.fact("Grid extents, at most", "{max_grid:extents}", r);
  page.fact("Threads per SM, at most", "{max_threads_per_sm}", r);
  page.fact("Blocks per SM, at most", "{max_blocks_per_sm}", r);
  page.fact("Registers per block / per SM", "{registers_per_block} / {registers_per_sm}", r);
  page.fact("Shared memory per block",
            "{shared_bytes_per_block:bytes}, {shared_bytes_per_block_optin:bytes} by opting in", r);
  page.fact("Shared memory per SM", "{shared_bytes_per_sm:bytes}", r);
  page.fact("Constant memory", "{constant_bytes}", r);
  page.fact("L2 cache", "{l2_bytes}", r);
  page.fact("Global memory", "{global_bytes}", r);
  page.fact("Core clock", "{core_mhz:.0f} MHz", r);
  page.fact("Memory clock, bus", "{memory_mhz:.0f} MHz, {memory_bus_bits} bits", r);
  page.fact("Peak FP32", "{peak_fp32:flops?not known}", r);
  page.fact("Peak memory bandwidth", "{peak_bandwidth:rate?not known}", r);
  page.fact("Copy engines", "{copy_engines}", r);
  page.fact("Concurrent kernels", "{concurrent_kernels}", r);
  page.fact("Copies overlap kernels", "{copies_overlap_kernels}", r);
}

}  // namespace tilescope::report
