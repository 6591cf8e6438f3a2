#include <fmt/format.h>

#include <tilescope/gpu/memories.hpp>

namespace tilescope::gpu {
namespace {

double level_capacity(const DeviceProperties& p, MemoryLevel level) {
  switch (level) {
    case MemoryLevel::registers:
      return 4.0 * p.registers_per_sm * p.sm_count;
    case MemoryLevel::shared:
      return double(p.shared_bytes_per_sm) * p.sm_count;
    case MemoryLevel::constant_cache:
      return 0.0;
    case MemoryLevel::l1:
      return 0.0;
    case MemoryLevel::l2:
      return double(p.l2_bytes);
    case MemoryLevel::dram:
      return double(p.global_bytes);
  }
  return 0.0;
}

}  // namespace

const std::vector<MemorySpace>& memory_spaces() {
  static const std::vector<MemorySpace> spaces{
      {"registers", "int i;  (in a kernel)", "thread", "thread", "read and write", true, false,
       MemoryLevel::registers, MemoryLevel::registers},
      {"local", "float a[9];  or registers run out", "thread", "thread", "read and write", false,
       true, MemoryLevel::l1, MemoryLevel::dram},
      {"shared", "__shared__ float s[256];", "block", "block", "read and write", true, false,
       MemoryLevel::shared, MemoryLevel::shared},
      {"global", "__device__ float g;  cudaMalloc", "grid, host", "application", "read and write",
       false, true, MemoryLevel::l1, MemoryLevel::dram},
      {"constant", "__constant__ float c[16];", "grid, host", "application", "read", false, true,
       MemoryLevel::constant_cache, MemoryLevel::dram},
      {"texture", "cudaTextureObject_t t;", "grid, host", "application", "read", false, true,
       MemoryLevel::l1, MemoryLevel::dram},
  };
  return spaces;
}

std::vector<LevelCost> level_costs(const Gpu& gpu) {
  const DeviceProperties& p = gpu.properties;
  std::vector<LevelCost> costs;
  for (const MemoryLevel level :
       {MemoryLevel::registers, MemoryLevel::shared, MemoryLevel::constant_cache, MemoryLevel::l1,
        MemoryLevel::l2, MemoryLevel::dram}) {
    LevelCost cost{.level = level};
    if (const LevelLatency* known = gpu.latency(level)) {
      cost.latency_cycles = known->cycles;
      cost.latency_source = known->source;
      if (p.core_clock_khz > 0) cost.latency_ns = known->cycles / (p.core_clock_khz * 1e-6);
    }
    cost.capacity_bytes = level_capacity(p, level);
    if (level == MemoryLevel::dram && gpu.bandwidth() > 0.0) {
      cost.bytes_per_second = gpu.bandwidth();
      cost.bandwidth_source = gpu.stated_bandwidth > 0.0 ? "stated" : "2 x clock x bus width";
    }
    // From Maxwell (5.x) on every bank gives a word each clock of the SM.
    if (level == MemoryLevel::shared && p.compute_major >= 5 && p.core_clock_khz > 0) {
      cost.bytes_per_second = 4.0 * gpu.shared_banks * p.core_clock_khz * 1e3 * p.sm_count;
      cost.bandwidth_source = fmt::format("{} banks x 4 B x clock x SMs", gpu.shared_banks);
    }
    costs.push_back(std::move(cost));
  }
  return costs;
}

}  // namespace tilescope::gpu
