#include "observe/count/footprint.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

namespace tilescope::observe {
namespace {

std::uint64_t words_for(std::uint64_t bytes) {
  return bytes / 64 + 1;
}

std::uint64_t bits_from(std::uint64_t first, std::uint64_t count) {
  return (count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1) << first;
}

}  // namespace

void Footprint::Release::operator()(Word* p) const {
  std::free(p);
}

Footprint::Footprint(const emulator::MemoryMap& memory) {
  const auto zeroed = [](std::uint64_t bytes) {
    // calloc: pages that are never touched are never there.
    void* p = std::calloc(words_for(bytes), sizeof(Word));
    if (p == nullptr) throw std::bad_alloc();
    return std::unique_ptr<Word[], Release>(static_cast<Word*>(p));
  };
  for (const auto& [address, allocation] : memory.allocations()) {
    if (allocation.bytes() == 0 ||
        allocation.kind() == emulator::AllocationKind::constant_variable) {
      continue;
    }
    regions_.push_back({address, allocation.bytes(), allocation.name(), zeroed(allocation.bytes()),
                        zeroed(allocation.bytes())});
  }
}

std::uint32_t Footprint::search(std::uint64_t address) const {
  auto after =
      std::upper_bound(regions_.begin(), regions_.end(), address,
                       [](std::uint64_t a, const Region& region) { return a < region.begin; });
  if (after == regions_.begin()) return kNowhere;
  --after;
  if (address - after->begin >= after->bytes) return kNowhere;
  return static_cast<std::uint32_t>(after - regions_.begin());
}

void Footprint::mark_bits(Word* bits, std::uint64_t offset, std::uint64_t bytes) {
  while (bytes != 0) {
    const std::uint64_t first = offset % 64;
    const std::uint64_t count = std::min<std::uint64_t>(bytes, 64 - first);
    const std::uint64_t mask = bits_from(first, count);
    Word& word = bits[offset / 64];
    if ((word.load(std::memory_order_relaxed) & mask) != mask) {
      word.fetch_or(mask, std::memory_order_relaxed);
    }
    offset += count;
    bytes -= count;
  }
}

std::vector<BufferTraffic> Footprint::result() const {
  std::vector<BufferTraffic> result;
  for (const Region& region : regions_) {
    BufferTraffic of{region.name, region.bytes, 0, 0};
    for (std::uint64_t i = 0; i < words_for(region.bytes); ++i) {
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
