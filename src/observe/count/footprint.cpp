#include "observe/count/footprint.hpp"

#include <bit>

namespace tilescope::observe {
namespace {

/// Mostly all or none are set.
std::uint64_t ones(const std::atomic<std::uint64_t>& bits) {
  const std::uint64_t word = bits.load(std::memory_order_relaxed);
  if (word == 0) return 0;
  return word == ~std::uint64_t{0} ? 64 : static_cast<std::uint64_t>(std::popcount(word));
}

}  // namespace

std::vector<BufferTraffic> Footprint::result() const {
  std::vector<BufferTraffic> result;
  for (const Region& region : regions()) {
    BufferTraffic of{region.name, region.bytes, 0, 0};
    for (std::uint64_t i = 0; i < region.words(); ++i) {
      of.read += ones(region.read[i]);
      of.written += ones(region.written[i]);
    }
    if (of.read + of.written != 0) result.push_back(std::move(of));
  }
  return result;
}

}  // namespace tilescope::observe
