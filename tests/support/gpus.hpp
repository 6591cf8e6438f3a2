// Properties of GPUs for tests, as the driver reports them.
#pragma once

#include <tilescope/device_properties.hpp>

namespace tilescope::testing {

inline DeviceProperties h200() {
  DeviceProperties p;
  p.name = "NVIDIA H200";
  p.compute_major = 9;
  p.sm_count = 132;
  p.max_threads_per_block = 1024;
  p.max_block = {1024, 1024, 64};
  p.max_grid = {2147483647, 65535, 65535};
  p.max_threads_per_sm = 2048;
  p.max_blocks_per_sm = 32;
  p.registers_per_block = p.registers_per_sm = 65536;
  p.shared_bytes_per_block = 49152;
  p.shared_bytes_per_block_optin = 232448;
  p.shared_bytes_per_sm = 233472;
  p.reserved_shared_bytes_per_block = 1024;
  p.constant_bytes = 65536;
  p.l2_bytes = 60u << 20u;
  p.global_bytes = 150110011392;
  p.core_clock_khz = 1980000;
  p.memory_clock_khz = 3201000;
  p.memory_bus_bits = 6144;
  p.fp32_lanes_per_sm = 128;
  p.copy_engines = 3;
  p.concurrent_kernels = true;
  return p;
}

inline DeviceProperties a100() {
  DeviceProperties p = h200();
  p.name = "NVIDIA A100";
  p.compute_major = 8;
  p.sm_count = 108;
  p.shared_bytes_per_block_optin = 166912;
  p.shared_bytes_per_sm = 167936;
  p.fp32_lanes_per_sm = 64;
  return p;
}

inline DeviceProperties t4() {
  DeviceProperties p = h200();
  p.name = "Tesla T4";
  p.compute_major = 7;
  p.compute_minor = 5;
  p.sm_count = 40;
  p.max_threads_per_sm = 1024;
  p.max_blocks_per_sm = 16;
  p.shared_bytes_per_block_optin = 65536;
  p.shared_bytes_per_sm = 65536;
  p.reserved_shared_bytes_per_block = 0;
  p.fp32_lanes_per_sm = 64;
  return p;
}

}  // namespace tilescope::testing
