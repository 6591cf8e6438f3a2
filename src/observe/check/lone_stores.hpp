// The bits that blocks store to single words or bytes of global memory, so that a race of blocks
// which all store the same can be told. A store to many words tells nothing here: blocks seldom
// agree on those.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "emulator/events.hpp"
#include "observe/check/lane_cells.hpp"

namespace tilescope::observe {

/// Those of one block, as they are at its end.
class LoneStores {
 public:
  /// `store` is one by `st`; `cells` describes it.
  void add(const emulator::Access& store, const LaneCells& cells) {
    if (cells.cells.size() > kMostCells) return;
    for (const TouchedCell& cell : cells.cells) {
      const std::uint64_t address = base_address(store) + static_cast<std::uint64_t>(cell.offset);
      if (bits_.size() == kMost && !bits_.contains(address)) {
        overflowed_ = true;
        continue;
      }
      const int lane = 31 - std::countl_zero(cell.lanes);  // the highest lane stores last
      bits_[address] = {cells.unit, static_cast<std::uint32_t>(
                                        emulator::stored_bits(store, lane, address, cells.unit))};
    }
  }
  void clear() {
    bits_.clear();
    overflowed_ = false;
  }

 private:
  friend class GridStores;
  static constexpr std::size_t kMostCells = 2, kMost = 64;
  struct Bits {
    std::uint32_t bytes, bits;
  };
  std::unordered_map<std::uint64_t, Bits> bits_;
  bool overflowed_ = false;
};

/// Those of all blocks of a launch.
class GridStores {
 public:
  /// Safe from several host threads.
  void add(std::uint64_t block, const LoneStores& stores) {
    if (stores.bits_.empty()) return;
    const std::lock_guard lock(mutex_);
    overflowed_ = overflowed_ || stores.overflowed_;
    for (const auto& [address, of] : stores.bits_) {
      if (words_.size() == kMost && !words_.contains(address)) overflowed_ = true;
      if (overflowed_) return;
      const auto [found, fresh] =
          words_.try_emplace(address, Word{of.bytes, of.bits, block, block});
      Word& word = found->second;
      word.differ = word.differ || word.bits != of.bits || word.bytes != of.bytes;
      word.lowest = std::min(word.lowest, block);
      word.highest = std::max(word.highest, block);
    }
  }
  /// Whether the two blocks, and all between them that stored a cell of so many bytes alone, left
  /// the same bits there.
  bool same(std::uint64_t address, std::uint32_t bytes, std::uint64_t a, std::uint64_t b) const {
    const auto found = words_.find(address);
    if (overflowed_ || found == words_.end()) return false;
    const Word& word = found->second;
    return !word.differ && word.bytes == bytes && word.lowest <= std::min(a, b) &&
           word.highest >= std::max(a, b);
  }

 private:
  static constexpr std::size_t kMost = 1u << 20;
  struct Word {
    std::uint32_t bytes, bits;
    std::uint64_t lowest, highest;
    bool differ = false;
  };
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Word> words_;
  bool overflowed_ = false;
};

}  // namespace tilescope::observe
