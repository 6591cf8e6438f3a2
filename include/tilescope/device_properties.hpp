// The limits and rates of one device, in the words of CUDA's device query.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tilescope/launch.hpp"

namespace tilescope {

/// The properties that a device query prints. Sizes in bytes, clocks in kHz. Members that a device
/// does not have are 0, such as those of a GPU's structure on the CPU.
struct DeviceProperties {
  std::string name;
  int compute_major = 0, compute_minor = 0;
  int sm_count = 0;
  int warp_size = 32;
  int max_threads_per_block = 0;
  Dim3 max_block{0, 0, 0};
  Dim3 max_grid{0, 0, 0};
  int max_threads_per_sm = 0;
  int max_blocks_per_sm = 0;
  int registers_per_block = 0;
  int registers_per_sm = 0;
  std::size_t shared_bytes_per_block = 0;        ///< without opting in to more
  std::size_t shared_bytes_per_block_optin = 0;  ///< the most that a kernel may request
  std::size_t shared_bytes_per_sm = 0;
  std::size_t reserved_shared_bytes_per_block = 0;
  std::size_t constant_bytes = 0;
  std::size_t l2_bytes = 0;
  std::size_t global_bytes = 0;
  int core_clock_khz = 0;
  int memory_clock_khz = 0;
  int memory_bus_bits = 0;
  int fp32_lanes_per_sm = 0;  ///< FP32 units per SM; 0 if unknown for this architecture
  int copy_engines = 0;
  bool concurrent_kernels = false;
  /// wgmma and bulk tensor copies are the fastest way to multiply. An emulated GPU runs them too,
  /// but no faster than others.
  bool warpgroup_products = false;

  /// Peak FP32 rate in FLOP/s: SMs x lanes x 2 x clock. 0 if unknown.
  double peak_fp32() const {
    return double(sm_count) * fp32_lanes_per_sm * 2.0 * core_clock_khz * 1e3;
  }
  /// Peak memory bandwidth in B/s: two transfers a clock on the whole bus. 0 if unknown.
  double peak_bandwidth() const { return 2.0 * memory_clock_khz * 1e3 * (memory_bus_bits / 8.0); }
};

}  // namespace tilescope
