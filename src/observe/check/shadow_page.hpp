// Records of recent accesses for a stretch of memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "observe/access_tag.hpp"
#include "observe/check/cell_records.hpp"
#include "observe/check/cell_rows.hpp"
#include "observe/check/read_log.hpp"

namespace tilescope::observe {

/// 256 bytes of memory: 64 cells of a word, or, once single bytes have been accessed, 256 cells of
/// a byte.
struct ShadowPage {
  static constexpr std::uint32_t kBytes = kPageBytes;
  static constexpr std::uint32_t kWords = kBytes / 4;

  std::uint64_t base = 0;  ///< address of the first byte
  bool by_bytes = false;
  bool by_rows = false;  ///< `rows` has the words, not `cells`: in global memory, at first
  std::uint32_t low = kBytes, high = 0;  ///< the bytes touched: [low, high)
  CellRecords cells;                     ///< room for words at least, perhaps for bytes
  CellRows rows;
  std::uint32_t changed = 0;  ///< no write or atomic in the cells is later
  /// If this is the present epoch (BlockOrder), a page of shared memory has only been read in it,
  /// by plain reads of words, and some of them may be in the ReadLog.
  std::uint32_t quiet = 0;
  std::uint32_t unlogged = 0;  ///< reads that the log does not take

  /// Numbered by words or bytes.
  Cell cell(std::uint32_t number) const {
    if (!by_rows) return cells[number];
    const CellRow* row = rows.find(number);
    return row == nullptr ? Cell{} : row->at(number);
  }
  /// From rows to words.
  void use_cells() {
    if (!by_rows) return;
    if (!cells) cells = CellRecords(kWords);
    by_rows = false;
    for (const CellRow& row : rows) {
      for (std::uint32_t i = row.begin; i < row.end; ++i) cells.set(i, row.at(i));
    }
  }
  /// From words to bytes; every byte inherits the record of its word.
  void split() {
    const bool untouched = by_rows && rows.empty();
    const bool has_room = cells.size() == kBytes;
    if (!untouched) use_cells();
    if (untouched && has_room) {
      // The rows of an earlier block mean nothing.
    } else if (has_room) {
      for (std::uint32_t i = kBytes; i-- > 0;) cells.set(i, cells[i / 4]);
    } else {
      CellRecords bytes(kBytes);
      for (std::uint32_t i = 0; i < kBytes && !untouched; ++i) bytes.set(i, cells[i / 4]);
      cells = std::move(bytes);
    }
    by_rows = false;
    by_bytes = true;
    quiet = 0;
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
    log.clear();
  }
  ShadowPage* page(std::uint64_t address) {
    ShadowPage& page = pages_[address / ShadowPage::kBytes];
    if (!page.cells) [[unlikely]] {
      page.cells = CellRecords(ShadowPage::kBytes / 4);
      page.base = address / ShadowPage::kBytes * ShadowPage::kBytes;
    }
    return &page;
  }
  /// Null if nothing was accessed there.
  const ShadowPage* find(std::uint64_t address) const {
    const ShadowPage& page = pages_[address / ShadowPage::kBytes];
    return page.cells ? &page : nullptr;
  }

  ReadLog log;

 private:
  std::vector<ShadowPage> pages_;
};

/// Finds pages by their numbers (address / ShadowPage::kBytes).
class PageTable {
 public:
  PageTable() : slots_(kFewest) {}
  /// Null if it has none.
  ShadowPage* find(std::uint64_t number) const {
    const std::uint64_t key = key_of(number);
    for (std::size_t at = place_of(number);; ++at) {
      const Slot& slot = slots_[at & (slots_.size() - 1)];
      if (slot.key == key) return slot.page;
      if ((slot.key & kGenerations) != generation_) return nullptr;
    }
  }
  /// There is none of this number yet.
  void insert(std::uint64_t number, ShadowPage* page);
  void clear();

 private:
  static constexpr std::size_t kFewest = 1024;  ///< a power of two
  static constexpr std::uint64_t kGenerations = 255;
  struct Slot {
    std::uint64_t key = 0;  ///< number and generation; slots of older generations are free
    ShadowPage* page = nullptr;
  };
  std::uint64_t key_of(std::uint64_t number) const { return number << 8 | generation_; }
  static std::size_t place_of(std::uint64_t number) {
    return static_cast<std::size_t>(number * 0x9e3779b97f4a7c15u >> 40);
  }
  void put(std::uint64_t key, ShadowPage* page);

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
  std::uint64_t generation_ = 1;
};

/// Global memory: the pages that the block has touched.
class GlobalShadow {
 public:
  /// Null if the memory for shadows is used up.
  ShadowPage* page(std::uint64_t address) {
    const std::uint64_t number = address / ShadowPage::kBytes;
    ShadowPage* const found = table_.find(number);
    return found != nullptr ? found : add(number);
  }
  const std::vector<ShadowPage*>& pages() const { return used_; }
  /// Calls `visit(cell, address)` for the cells of these bytes that were accessed.
  template <class Visit>
  void visit(std::uint64_t address, std::uint64_t bytes, Visit&& visit) const {
    const std::uint64_t end = address + bytes;
    for (std::uint64_t number = address / ShadowPage::kBytes; number * ShadowPage::kBytes < end;
         ++number) {
      const ShadowPage* const found = table_.find(number);
      if (found == nullptr) continue;
      const ShadowPage& page = *found;
      const std::uint64_t first = std::max(address, page.base + page.low);
      const std::uint64_t last = std::min(end, page.base + page.high);
      const std::uint32_t unit = page.by_bytes ? 1 : 4;
      for (std::uint64_t at = first / unit * unit; at < last; at += unit) {
        visit(page.cell(static_cast<std::uint32_t>((at - page.base) / unit)), at);
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
  ShadowPage* add(std::uint64_t number);

  PageTable table_;
  std::vector<ShadowPage*> used_, spare_;
  std::vector<std::unique_ptr<ShadowPage>> owned_;
  bool overflowed_ = false;
};

}  // namespace tilescope::observe
