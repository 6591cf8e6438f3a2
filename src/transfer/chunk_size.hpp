// How much of a long list goes over the link at once.
#pragma once

#include <cstddef>
#include <tilescope/device.hpp>

namespace tilescope::transfer {

/// What one copy of x bytes takes: latency + x / rate.
struct LinkModel {
  double bytes_per_second = 50e9;
  double latency_s = 10e-6;
};

/// Device memory that measure_link_model() takes meanwhile.
inline constexpr std::size_t link_probe_bytes = std::size_t{16} << 20U;

/// The model of a GPU's link, from two sizes of pinned copies (a few ms in all); of other devices,
/// which have no link, the numbers above, so that nothing there depends on a clock.
LinkModel measure_link_model(Device& device);

inline constexpr std::size_t least_chunk_bytes = std::size_t{64} << 10U;

/// Bytes of a chunk, all inputs together, when `bytes` bytes in all go up in chunks of `copies`
/// copies each. With the overhead h = copies * latency of a chunk and a pipeline in which the first
/// chunk's copy up and the last one's down are hidden behind nothing, a chunk of c bytes makes the
/// whole take
///
///     T(c) = bytes / rate + (bytes / c) * h + 2 c / rate,
///
/// which is least at c = sqrt(bytes * h * rate / 2): the overhead of a chunk is then the share
/// sqrt(2 h rate / bytes) of its transfer. Never below least_chunk_bytes, whatever a clock says.
std::size_t best_chunk_bytes(const LinkModel& link, double bytes, int copies);

}  // namespace tilescope::transfer
