#include "observe/count/footprint.hpp"

#include <bit>

namespace tilescope::observe {

std::vector<BufferTraffic> Footprint::result() const {
  std::vector<BufferTraffic> result;
  for (const Region& region : regions()) {
    BufferTraffic of{region.name, region.bytes, 0, 0};
    for (std::uint64_t i = 0; i < region.words(); ++i) {
      of.read +=
          static_cast<unsigned>(std::popcount(region.read[i].load(std::memory_order_relaxed)));
      of.written +=
          static_cast<unsigned>(std::popcount(region.written[i].load(std::memory_order_relaxed)));
    }
    if (of.read + of.written != 0) result.push_back(std::move(of));
  }
  return result;
}

}  // namespace tilescope::observe
