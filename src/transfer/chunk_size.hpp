// The size of a long list's chunks on the link.
#pragma once

#include <cstddef>
#include <tilescope/device.hpp>

namespace tilescope::transfer {

/// The time of one copy of x bytes: latency + x / rate.
struct LinkModel {
  double bytes_per_second = 50e9;
  double latency_s = 10e-6;
};

/// Device memory that measure_link_model() uses meanwhile.
inline constexpr std::size_t link_probe_bytes = std::size_t{16} << 20U;

/// The model of a GPU's link, from two sizes of pinned copies (a few ms in all). Other devices have
/// no link: they get the numbers above, so that nothing there depends on a clock.
LinkModel measure_link_model(Device& device);

inline constexpr std::size_t least_chunk_bytes = std::size_t{64} << 10U;

/// Bytes of a chunk, all inputs together, when `bytes` bytes in all go up in chunks of `copies`
/// copies each. A chunk has the overhead h = copies * latency, and nothing hides the first chunk's
/// copy up and the last one's down. With chunks of c bytes the whole takes
///
///     T(c) = bytes / rate + (bytes / c) * h + 2 c / rate,
///
/// which is least at c = sqrt(bytes * h * rate / 2): the overhead of a chunk is then the share
/// sqrt(2 h rate / bytes) of its transfer. Never below least_chunk_bytes, whatever a clock says.
std::size_t best_chunk_bytes(const LinkModel& link, double bytes, int copies);

}  // namespace tilescope::transfer
