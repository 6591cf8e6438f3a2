// Named GPUs, from a GeForce of 2008 to today's, and the machines of textbooks: limits, rates,
// latencies, and the source of each figure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tilescope/device_properties.hpp>
#include <tilescope/gpu/occupancy.hpp>
#include <tilescope/gpu/roofline.hpp>
#include <vector>

namespace tilescope::gpu {

/// A ceiling of arithmetic: "fp32", "tf32_tensor", "bf16_tensor", ... dense, in FLOP/s.
struct MathRate {
  std::string name;
  double flops_per_second = 0.0;
  std::string source;
};

enum class MemoryLevel { registers, shared, constant_cache, l1, l2, dram };
/// "registers", "shared", "constant_cache", "l1", "l2", "dram".
std::string_view name_of(MemoryLevel level);
std::optional<MemoryLevel> memory_level(std::string_view name);

/// The latency of a dependent access to a level.
struct LevelLatency {
  MemoryLevel level = MemoryLevel::dram;
  double cycles = 0.0;
  std::string source;
};

struct Source {
  std::string what, where;
};

struct Gpu {
  std::string name;  ///< the name that commands take: "h200"
  /// The names that the driver reports for it: "NVIDIA H200". Any other name is another GPU.
  std::vector<std::string> device_names;
  DeviceProperties properties;
  AllocationUnits units;
  int shared_banks = 32;
  int sector_bytes = 32;  ///< bytes fetched from global memory at a time
  int line_bytes = 128;
  double stated_bandwidth = 0.0;  ///< B/s, where it differs from the product of clock and bus
  std::vector<MathRate> rates;    ///< "fp32" first if known
  std::vector<LevelLatency> latencies;
  std::vector<Source> sources;

  double bandwidth() const {
    return stated_bandwidth > 0.0 ? stated_bandwidth : properties.peak_bandwidth();
  }
  /// The rate called `name`, or null.
  const MathRate* rate(std::string_view rate_name) const;
  const LevelLatency* latency(MemoryLevel level) const;
  /// The roofline of memory and one ceiling. Throws Error(usage), listing the known rates, if this
  /// rate or the bandwidth is unknown.
  Roofline roofline(std::string_view rate_name = "fp32") const;
};

/// All named GPUs, the default one (h200) first.
std::span<const Gpu> gpu_table();

/// The GPU called `name` (letter case does not matter), or described in the JSON file of that name
/// (it ends in ".json"; docs/reasoning.md lists the keys). Throws Error(usage), suggesting the
/// nearest name, for an unknown one; Error(bad_input) for a file that is no such description.
Gpu find_gpu(const std::string& name);

/// Parses a description in JSON. Messages call it `origin`.
Gpu parse_gpu(std::string_view json, const std::string& origin);

/// A GPU made of a real device's own limits, with the units, rates and latencies of the GPU in the
/// table that has exactly its name. A device that is not in the table has no rates but its FP32
/// units times its clock, so no other result is held against a ceiling.
Gpu gpu_of_device(const DeviceProperties& device);

}  // namespace tilescope::gpu
