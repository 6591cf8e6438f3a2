// DRAM: bandwidth from clock and width, bursts, banks and channels; Little's law.
#pragma once

#include <cstdint>
#include <tilescope/device_properties.hpp>

namespace tilescope::gpu {

/// Bytes per second of an interface. Throws Error(usage) unless all are positive.
double interface_bandwidth(double clock_hz, int bus_bits, double transfers_per_clock = 2.0);

/// The fewest channels whose bandwidths add up to `wanted`. Figures are taken as rounded: 1% short
/// counts as reached (8 x 17.6 GB/s is meant to be 141.7 GB/s).
int channels_for(double wanted, double per_channel);

/// One burst: the array is slow and delivers `prefetch` times the interface's width at once, which
/// then crosses the interface in `prefetch` transfers.
struct BurstTiming {
  double array_ns = 0.0;     ///< one access to the array: decode, sense, deliver
  double transfer_ns = 0.0;  ///< one burst crossing the interface

  /// Share of the time in which the interface is busy when `banks` banks take turns.
  double utilisation(int banks) const;
  /// The fewest banks that keep the interface busy.
  int banks_to_hide() const;
};
BurstTiming burst_timing(double clock_hz, int prefetch, double array_ns,
                         double transfers_per_clock = 2.0);
/// Bytes of a burst: prefetch * bus width
/// 8 bits.
std::int64_t burst_bytes(int prefetch, int bus_bits);

/// Bytes that must be in flight to use the bandwidth in full.
double bytes_in_flight(double bytes_per_second, double latency_seconds);

/// Little's law on a device.
struct LittleNeed {
  double bytes = 0.0;  ///< in flight, whole device
  double bytes_per_sm = 0.0;
  double requests_per_sm = 0.0;  ///< warp loads in flight: bytes_per_sm / bytes of a warp load
  int warps_per_sm = 0;          ///< warps needed when each has `loads_per_warp` in flight
};
/// `bytes_per_thread`: bytes of one load. Throws Error(usage) unless all are positive.
LittleNeed little_need(double bytes_per_second, double latency_seconds, int sm_count,
                       int bytes_per_thread = 4, int loads_per_warp = 1, int warp_size = 32);

/// A fixed portion (sector, line, burst) is fetched for each access; the kernel uses `used_bytes`
/// of it.
struct SparseUse {
  double times_the_traffic = 0.0;  ///< portions fetched over portions needed if packed
  double wasted_share = 0.0;       ///< of the bandwidth
};
SparseUse sparse_use(double used_bytes, double portion_bytes);

}  // namespace tilescope::gpu
