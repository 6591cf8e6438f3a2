// The bytes of global memory that a launch reads and writes, each counted once: the traffic that no
// cache could avoid.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <tilescope/counts.hpp>
#include <vector>

#include "emulator/memory_map.hpp"

namespace tilescope::observe {

/// One bit for each byte and direction. Blocks on several host threads mark the same bits; setting
/// a bit twice does no harm, so the result does not depend on their order.
class Footprint {
 public:
  explicit Footprint(const emulator::MemoryMap& memory);

  /// Index of the allocation that holds `address`; `hint` is tried first. kNowhere if none does.
  static constexpr std::uint32_t kNowhere = 0xffffffffu;
  std::uint32_t find(std::uint64_t address, std::uint32_t hint) const {
    if (hint < regions_.size() && address - regions_[hint].begin < regions_[hint].bytes) {
      return hint;
    }
    return search(address);
  }
  void mark(std::uint32_t region, std::uint64_t address, std::uint64_t bytes, bool write) {
    Region& r = regions_[region];
    Word* bits = write ? r.written.get() : r.read.get();
    const std::uint64_t offset = address - r.begin, first = offset % 64;
    if (first + bytes > 64) return mark_bits(bits, offset, bytes);
    const std::uint64_t mask = (~std::uint64_t{0} >> (64 - bytes)) << first;
    Word& word = bits[offset / 64];
    if ((word.load(std::memory_order_relaxed) & mask) != mask) {
      word.fetch_or(mask, std::memory_order_relaxed);
    }
  }
  /// In order of address; untouched allocations are left out.
  std::vector<BufferTraffic> result() const;

 private:
  using Word = std::atomic<std::uint64_t>;
  struct Release {
    void operator()(Word* p) const;
  };
  struct Region {
    std::uint64_t begin, bytes;
    std::string name;
    std::unique_ptr<Word[], Release> read, written;
  };
  std::uint32_t search(std::uint64_t address) const;
  static void mark_bits(Word* bits, std::uint64_t offset, std::uint64_t bytes);

  std::vector<Region> regions_;
};

}  // namespace tilescope::observe
