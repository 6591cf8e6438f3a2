// A bit for each byte of global memory and direction: has it been read, has it been written?
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "emulator/memory_map.hpp"

namespace tilescope::emulator {

/// Blocks on several host threads mark the same bits; setting a bit twice does no harm, so the
/// result does not depend on their order.
class TouchedBytes {
 public:
  /// For the present allocations, but those of constant variables.
  explicit TouchedBytes(const MemoryMap& memory);

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
    const std::uint64_t offset = address - r.origin, first = offset % 64;
    if (first + bytes > 64) return mark_bits(bits, offset, bytes);
    const std::uint64_t mask = (~std::uint64_t{0} >> (64 - bytes)) << first;
    Word& word = bits[offset / 64];
    if ((word.load(std::memory_order_relaxed) & mask) != mask) {
      word.fetch_or(mask, std::memory_order_relaxed);
    }
  }

  /// Host addresses for compiled code, which looks whether marks are there already: the bit of the
  /// byte at address a is number a % 8 of the byte at `read` + a / 8. Sixteen bytes past the last
  /// mark can be read.
  struct MarkAddresses {
    std::uint64_t read, written;
  };
  MarkAddresses mark_addresses(std::uint32_t region) const;

 protected:
  using Word = std::atomic<std::uint64_t>;
  struct Release {
    void operator()(Word* p) const;
  };
  struct Region {
    std::uint64_t begin, bytes;
    std::uint64_t origin;  ///< the address of the first bit: `begin`, or less
    std::string name;
    std::unique_ptr<Word[], Release> read, written;
    std::uint64_t words() const { return (begin - origin + bytes) / 64 + 1; }
  };
  const std::vector<Region>& regions() const { return regions_; }

 private:
  std::uint32_t search(std::uint64_t address) const;
  static void mark_bits(Word* bits, std::uint64_t offset, std::uint64_t bytes);

  std::vector<Region> regions_;
};

}  // namespace tilescope::emulator
