// DRAM: bandwidth, bursts, banks, Little's law.
#pragma once

#include <string>
#include <tilescope/gpu/dram.hpp>

#include "report/page/page.hpp"

namespace tilescope::report {

struct DramContext {
  std::string machine;
  double clock_hz = 0.0, transfers_per_clock = 2.0;
  int bus_bits = 0;
  double wanted_bytes_per_second = 0.0;  ///< 0: no target
  int prefetch = 0, banks = 0;
  double array_ns = 0.0;
  double latency_ns = 0.0;  ///< 0: no Little's law
  int sm_count = 0;
  int bytes_per_thread = 4, loads_per_warp = 1, warps_resident = 0;
  int used_bytes = 4, line_bytes = 128;

  double bandwidth() const {
    return gpu::interface_bandwidth(clock_hz, bus_bits, transfers_per_clock);
  }
};

Page dram_page(const DramContext& context);

}  // namespace tilescope::report
