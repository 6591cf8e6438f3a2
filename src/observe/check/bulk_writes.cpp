#include "observe/check/bulk_writes.hpp"

#include <algorithm>
#include <iterator>

namespace tilescope::observe {

void BulkWrites::add(std::uint64_t address, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  std::uint64_t begin = address, end = address + bytes;
  auto at = stretches_.upper_bound(begin);
  if (at != stretches_.begin() && std::prev(at)->second >= begin) --at;
  while (at != stretches_.end() && at->first <= end) {
    begin = std::min(begin, at->first);
    end = std::max(end, at->second);
    at = stretches_.erase(at);
  }
  stretches_.emplace_hint(at, begin, end);
}

bool BulkWrites::contains(std::uint64_t address) const {
  const std::lock_guard lock(mutex_);
  const auto after = stretches_.upper_bound(address);
  return after != stretches_.begin() && address < std::prev(after)->second;
}

void BulkWrites::keep(emulator::MemoryMap& memory) const {
  for (const auto& [begin, end] : stretches_) {
    if (emulator::Allocation* in = memory.find(begin)) {
      in->mark_initialised(begin - in->address(), end - begin);
    }
  }
}

}  // namespace tilescope::observe
