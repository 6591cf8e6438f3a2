#include "transfer/chunk_size.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <tilescope/pinned.hpp>

namespace tilescope::transfer {
namespace {

/// The shortest of a few copies, in seconds: disturbances only make a copy longer.
double copy_seconds(Device& device, const PinnedBuffer& from, const Buffer& to, std::size_t bytes) {
  using Clock = std::chrono::steady_clock;
  constexpr int copies = 5;
  const Stream stream = device.create_stream();
  double least = 0.0;
  for (int i = 0; i < copies; ++i) {
    const Clock::time_point start = Clock::now();
    device.copy_to_device(to.address(), from.data(), bytes, stream);
    device.synchronize(stream);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    least = i == 0 ? seconds : std::min(least, seconds);
  }
  return least;
}

}  // namespace

LinkModel measure_link_model(Device& device) {
  if (device.kind() != DeviceKind::cuda) return {};
  constexpr std::size_t small = 4096, large = link_probe_bytes;
  const PinnedBuffer from(device, large);
  std::memset(from.data(), 0, large);
  const Buffer to = device.allocate(large, "link", Reach::own);
  const double short_s = copy_seconds(device, from, to, small);
  const double long_s = copy_seconds(device, from, to, large);
  LinkModel link;
  if (long_s <= short_s) return link;  // the clock is too coarse
  link.bytes_per_second = static_cast<double>(large - small) / (long_s - short_s);
  link.latency_s = std::max(0.0, short_s - static_cast<double>(small) / link.bytes_per_second);
  return link;
}

std::size_t best_chunk_bytes(const LinkModel& link, double bytes, int copies) {
  const double overhead_bytes = copies * link.latency_s * link.bytes_per_second;
  return std::max(least_chunk_bytes,
                  static_cast<std::size_t>(std::sqrt(bytes * overhead_bytes / 2.0)));
}

}  // namespace tilescope::transfer
