// Records of recent accesses for a stretch of memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "observe/access_tag.hpp"

namespace tilescope::observe {

/// 256 bytes of memory: 64 cells of a word, or, once single bytes have been accessed, 256 cells of
/// a byte.
struct ShadowPage {
  static constexpr std::uint32_t kBytes = 256;

  std::uint64_t base = 0;  ///< address of the first byte
  bool by_bytes = false;
  std::uint32_t low = kBytes, high = 0;  ///< the bytes touched: [low, high)
  std::unique_ptr<Cell[]> cells;

  /// From words to bytes; every byte inherits the record of its word.
  void split() {
    auto bytes = std::make_unique<Cell[]>(kBytes);
    for (std::uint32_t i = 0; i < kBytes; ++i) bytes[i] = cells[i / 4];
    cells = std::move(bytes);
    by_bytes = true;
  }
  void touch(std::uint32_t offset, std::uint32_t bytes) {
    low = std::min(low, offset);
    high = std::max(high, offset + bytes);
  }
};

/// Shared memory: all pages, from the start.
class SharedShadow {
 public:
  void resize(std::uint32_t bytes) {
    pages_.clear();
    pages_.resize((bytes + ShadowPage::kBytes - 1) / ShadowPage::kBytes);
  }
  ShadowPage* page(std::uint64_t address) {
    ShadowPage& page = pages_[address / ShadowPage::kBytes];
    if (!page.cells) [[unlikely]] {
      page.cells = std::make_unique<Cell[]>(ShadowPage::kBytes / 4);
      page.base = address / ShadowPage::kBytes * ShadowPage::kBytes;
    }
    return &page;
  }
  /// Null if nothing was accessed there.
  const ShadowPage* find(std::uint64_t address) const {
    const ShadowPage& page = pages_[address / ShadowPage::kBytes];
    return page.cells ? &page : nullptr;
  }

 private:
  std::vector<ShadowPage> pages_;
};

/// Global memory: the pages that the block has touched.
class GlobalShadow {
 public:
  /// Null if the memory for shadows is used up.
  ShadowPage* page(std::uint64_t address) {
    const std::uint64_t number = address / ShadowPage::kBytes;
    ShadowPage*& recent = recent_[number % recent_.size()];
    if (recent != nullptr && recent->base == number * ShadowPage::kBytes) return recent;
    ShadowPage* found = find(number);
    if (found != nullptr) recent = found;
    return found;
  }
  const std::vector<ShadowPage*>& pages() const { return used_; }
  /// Calls `visit(cell, address)` for the cells of these bytes that were accessed.
  template <class Visit>
  void visit(std::uint64_t address, std::uint64_t bytes, Visit&& visit) const {
    const std::uint64_t end = address + bytes;
    for (std::uint64_t number = address / ShadowPage::kBytes; number * ShadowPage::kBytes < end;
         ++number) {
      const auto found = by_number_.find(number);
      if (found == by_number_.end()) continue;
      const ShadowPage& page = *found->second;
      const std::uint64_t first = std::max(address, page.base + page.low);
      const std::uint64_t last = std::min(end, page.base + page.high);
      const std::uint32_t unit = page.by_bytes ? 1 : 4;
      for (std::uint64_t at = first / unit * unit; at < last; at += unit) {
        visit(page.cells[(at - page.base) / unit], at);
      }
    }
  }
  /// Forgets all pages.
  void clear();
  /// Frees them too, so that their contents cannot be seen again.
  void reset() {
    clear();
    spare_.clear();
    owned_.clear();
  }
  /// Pages that one block may have: 4 million words, 128 MiB of records.
  static constexpr std::size_t kMostPages = 65'536;
  bool overflowed() const { return overflowed_; }

 private:
  ShadowPage* find(std::uint64_t number);

  std::array<ShadowPage*, 1024> recent_{};
  std::unordered_map<std::uint64_t, ShadowPage*> by_number_;
  std::vector<ShadowPage*> used_, spare_;
  std::vector<std::unique_ptr<ShadowPage>> owned_;
  bool overflowed_ = false;
};

}  // namespace tilescope::observe
