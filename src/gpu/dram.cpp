#include <algorithm>
#include <cmath>
#include <tilescope/gpu/dram.hpp>

#include "base/errors.hpp"

namespace tilescope::gpu {
namespace {

void require_positive(double value, std::string_view what) {
  if (!(value > 0.0) || !std::isfinite(value)) {
    throw usage_error("{} of {}: it must be more than 0", what, value);
  }
}

}  // namespace

double interface_bandwidth(double clock_hz, int bus_bits, double transfers_per_clock) {
  require_positive(clock_hz, "a clock");
  require_positive(bus_bits, "a bus width");
  require_positive(transfers_per_clock, "a number of transfers per clock");
  return clock_hz * transfers_per_clock * bus_bits / 8.0;
}

int channels_for(double wanted, double per_channel) {
  require_positive(wanted, "a bandwidth");
  require_positive(per_channel, "a channel's bandwidth");
  constexpr double rounding = 0.01;
  return std::max(1, static_cast<int>(std::ceil(wanted * (1.0 - rounding) / per_channel)));
}

double BurstTiming::utilisation(int banks) const {
  require_positive(banks, "a number of banks");
  return std::min(1.0, banks * transfer_ns / (array_ns + transfer_ns));
}

int BurstTiming::banks_to_hide() const {
  // A quotient that is whole except for rounding must not become the next number.
  return static_cast<int>(std::ceil((array_ns + transfer_ns) / transfer_ns - 1e-9));
}

BurstTiming burst_timing(double clock_hz, int prefetch, double array_ns,
                         double transfers_per_clock) {
  require_positive(clock_hz, "a clock");
  require_positive(prefetch, "a prefetch");
  require_positive(array_ns, "an array access time");
  require_positive(transfers_per_clock, "a number of transfers per clock");
  return {.array_ns = array_ns, .transfer_ns = prefetch / (clock_hz * transfers_per_clock) * 1e9};
}

std::int64_t burst_bytes(int prefetch, int bus_bits) {
  return std::int64_t{prefetch} * bus_bits / 8;
}

double bytes_in_flight(double bytes_per_second, double latency_seconds) {
  require_positive(bytes_per_second, "a bandwidth");
  require_positive(latency_seconds, "a latency");
  return bytes_per_second * latency_seconds;
}

LittleNeed little_need(double bytes_per_second, double latency_seconds, int sm_count,
                       int bytes_per_thread, int loads_per_warp, int warp_size) {
  require_positive(sm_count, "a number of SMs");
  require_positive(bytes_per_thread, "a load");
  require_positive(loads_per_warp, "a number of loads per warp");
  require_positive(warp_size, "a warp size");
  LittleNeed need;
  need.bytes = bytes_in_flight(bytes_per_second, latency_seconds);
  need.bytes_per_sm = need.bytes / sm_count;
  need.requests_per_sm = need.bytes_per_sm / (double(bytes_per_thread) * warp_size);
  need.warps_per_sm = static_cast<int>(std::ceil(need.requests_per_sm / loads_per_warp));
  return need;
}

SparseUse sparse_use(double used_bytes, double portion_bytes) {
  require_positive(used_bytes, "a number of used bytes");
  require_positive(portion_bytes, "a portion");
  if (used_bytes > portion_bytes) {
    throw usage_error("{} of {} bytes cannot be used: use at most all", used_bytes, portion_bytes);
  }
  return {.times_the_traffic = portion_bytes / used_bytes,
          .wasted_share = 1.0 - used_bytes / portion_bytes};
}

}  // namespace tilescope::gpu
