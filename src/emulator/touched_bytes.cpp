#include "emulator/touched_bytes.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace tilescope::emulator {
namespace {

std::uint64_t bits_from(std::uint64_t first, std::uint64_t count) {
  return (count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1) << first;
}

}  // namespace

void TouchedBytes::Release::operator()(Word* p) const {
  std::free(p);
}

TouchedBytes::TouchedBytes(const MemoryMap& memory) {
  const auto zeroed = [](std::uint64_t words) {
    // calloc: pages that are never touched are never there.
    void* p = std::calloc(words + 2, sizeof(Word));
    if (p == nullptr) throw std::bad_alloc();
    return std::unique_ptr<Word[], Release>(static_cast<Word*>(p));
  };
  for (const auto& [address, allocation] : memory.allocations()) {
    if (allocation.bytes() == 0 || allocation.kind() == AllocationKind::constant_variable) continue;
    Region region{
        address, allocation.bytes(), address & ~std::uint64_t{63}, allocation.name(), nullptr,
        nullptr};
    region.read = zeroed(region.words());
    region.written = zeroed(region.words());
    regions_.push_back(std::move(region));
  }
}

std::uint32_t TouchedBytes::search(std::uint64_t address) const {
  auto after =
      std::upper_bound(regions_.begin(), regions_.end(), address,
                       [](std::uint64_t a, const Region& region) { return a < region.begin; });
  if (after == regions_.begin()) return kNowhere;
  --after;
  if (address - after->begin >= after->bytes) return kNowhere;
  return static_cast<std::uint32_t>(after - regions_.begin());
}

void TouchedBytes::mark_bits(Word* bits, std::uint64_t offset, std::uint64_t bytes) {
  while (bytes != 0) {
    const std::uint64_t first = offset % 64;
    const std::uint64_t count = std::min<std::uint64_t>(bytes, 64 - first);
    const std::uint64_t mask = bits_from(first, count);
    Word& word = bits[offset / 64];
    if (mask == ~std::uint64_t{0}) {  // there is nothing to keep
      word.store(mask, std::memory_order_relaxed);
    } else if ((word.load(std::memory_order_relaxed) & mask) != mask) {
      word.fetch_or(mask, std::memory_order_relaxed);
    }
    offset += count;
    bytes -= count;
  }
}

TouchedBytes::MarkAddresses TouchedBytes::mark_addresses(std::uint32_t region) const {
  const Region& r = regions_[region];
  const auto at = [&](const std::unique_ptr<Word[], Release>& bits) {
    return reinterpret_cast<std::uint64_t>(bits.get()) - r.origin / 8;
  };
  return {at(r.read), at(r.written)};
}

}  // namespace tilescope::emulator
