// The blocks that read and wrote each cell of global memory in a launch, for races between blocks
// and for bytes that one block writes and another reads.
//
// Blocks that nothing orders race whenever two of them touch the same cell and one writes, whatever
// the sequence they ran in. So of each cell and way of access only the lowest and the highest block
// are kept: that is enough to know whether there were two different ones, takes bounded memory, and
// is the same however the blocks were spread over host threads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "emulator/memory_map.hpp"
#include "emulator/program.hpp"
#include "observe/check/lone_stores.hpp"
#include "observe/check/race_log.hpp"
#include "observe/check/shadow_page.hpp"
#include "observe/check/store_values.hpp"
#include "observe/check/touch_records.hpp"
#include "observe/check/touch_rows.hpp"
#include "observe/check/volatile_races.hpp"
#include "observe/check/wild_threads.hpp"

namespace tilescope::observe {

class GridSummary {
 public:
  static constexpr std::uint64_t kMostBytes = 1ull << 30;
  /// Summarises these allocations. The kernel heap is left out: its pieces change owners. The
  /// records take at most `most_bytes`.
  GridSummary(const emulator::MemoryMap& memory, const emulator::Program& program,
              const std::vector<AccessRole>& roles, std::uint64_t most_bytes = kMostBytes);

  /// Bytes that a page takes before its cells have records of their own.
  static std::uint64_t page_bytes();

  /// Adds the accesses of a block. Safe from several host threads.
  void add(std::uint64_t block, const GlobalShadow& shadow, const LoneStores& stores,
           std::uint32_t block_start);

  /// Adds the races between blocks, by address. Call it when no block runs.
  void find_races(const StoreValues& values, const WildThreads& wild, RaceLog& races,
                  VolatileRaces& volatile_races) const;
  /// Whether a block other than `block` wrote the byte. `stored`: by something else than atomics,
  /// which build on the old value.
  bool written_by_other(std::uint64_t address, std::uint64_t block, bool stored) const;
  /// Whether any block has written anything.
  bool anything_written() const;
  struct Side {
    std::uint64_t block = 0;
    AccessTag tag;
  };
  /// A way in which blocks touched a cell, with the lowest and the highest of them.
  struct Contact {
    AccessVerb verb = AccessVerb::read;
    bool strong = false;
    Side lowest, highest;
  };
  /// Calls visit(contact) for the cells that hold these bytes.
  template <class Visit>
  void visit_contacts(std::uint64_t address, std::uint32_t bytes, Visit visit) const;
  /// Calls visit(address, bytes, contact) for all cells.
  template <class Visit>
  void for_contacts(Visit visit) const;
  /// Calls visit(first address, bytes) for the stretches that were written, ascending; they may
  /// touch each other.
  template <class Visit>
  void for_written(Visit visit) const;

  bool overflowed() const { return overflowed_; }

 private:
  /// Strong accesses of block scope are plain ones to other blocks; their atomics stay apart,
  /// because they build on the old value.
  enum Way : std::uint8_t {
    plain_write,
    plain_read,
    strong_write,
    strong_read,
    atomic_write,
    block_atomic,
    ways
  };
  struct WayPair {
    Way first, second;
  };
  static bool strong(Way way) {
    return way == strong_write || way == strong_read || way == atomic_write;
  }
  struct Page {
    bool by_bytes = false;
    std::array<TouchRecords, ways> touches;  ///< by way; empty: nobody, or as rows
    std::array<TouchRows, 2> rows;           ///< of plain_write and plain_read, until cells differ
    std::uint32_t cells() const { return by_bytes ? ShadowPage::kBytes : ShadowPage::kBytes / 4; }
    /// The blocks that touched a cell in this way.
    std::optional<Touch> touched(Way way, std::uint32_t cell) const {
      if (!touches[way]) {
        const TouchRow* row = way < rows.size() ? rows[way].find(cell) : nullptr;
        return row == nullptr ? std::nullopt : std::optional(row->at(cell));
      }
      const Touch touch = touches[way][cell];
      return touch.lowest == Touch::kNobody ? std::nullopt : std::optional(touch);
    }
    bool has_one_block() const {
      Touch all;
      const auto add = [&](std::uint32_t lowest, std::uint32_t highest) {
        all.lowest = std::min(all.lowest, lowest);
        all.highest = std::max(all.highest, highest);
      };
      for (const TouchRecords& of : touches) {
        if (!of) continue;
        const Touch blocks = of.blocks(cells());
        add(blocks.lowest, blocks.highest);
      }
      for (const TouchRows& of : rows) {
        for (const TouchRow& row : of) add(row.lowest, row.highest);
      }
      return all.lowest == all.highest;
    }
    bool has(Way way) const { return touches[way] || (way < rows.size() && !rows[way].empty()); }
    /// One bit for each word that two blocks may have touched in these ways.
    std::uint64_t contended(WayPair of) const;
    bool is_written() const {
      return has(plain_write) || has(strong_write) || has(atomic_write) || has(block_atomic);
    }
    bool is_written_in_rows() const {
      return !rows[plain_write].empty() && !has(strong_write) && !has(atomic_write) &&
             !has(block_atomic);
    }
  };
  struct Region {
    std::uint64_t begin, bytes;
    std::vector<Page*> pages;  ///< null: not touched
  };
  /// Pages of neighbouring numbers, which mostly come after each other, and the lock for them.
  struct Shelf {
    static constexpr std::uint64_t kTogether = 16;
    std::mutex lock;
    std::vector<std::unique_ptr<std::array<Page, kTogether>>> pages;
    std::size_t left = 0;  ///< of the last pages
    Page* add() {
      if (left == 0) {
        pages.push_back(std::make_unique_for_overwrite<std::array<Page, kTogether>>());
        left = kTogether;
      }
      return &(*pages.back())[kTogether - left--];
    }
  };

  Region* region(std::uint64_t address);
  const Region* region(std::uint64_t address) const {
    return const_cast<GridSummary*>(this)->region(address);
  }
  void add_page(std::uint32_t block, ShadowPage& shadow, std::uint32_t block_start, Page& page);
  bool add_plain(std::uint32_t block, ShadowPage& shadow, std::uint32_t block_start, Page& page);
  bool make_touches(Page& page, Way way);
  static void prefetch(const Page* page);
  void note_row(Page& page, Way way, const CellRow& row, std::uint32_t block,
                const RowEvent& event);
  /// False, and `overflowed`, when the records would take more memory than they may.
  bool take_memory(std::uint64_t bytes);
  bool split(Page& page);
  Way way_of_write(AccessTag tag) const;
  Way way_of_atomic(AccessTag tag) const;
  bool note(Page& page, Way way, std::uint32_t cell, std::uint32_t block, AccessTag tag);
  static AccessVerb verb_of(Way way, AccessTag tag);
  template <class Visit>
  static void visit_cell(const Page& page, std::uint32_t cell, Visit visit);
  /// Two blocks that touched a cell in two ways; nothing if there were no two.
  static std::optional<std::pair<Side, Side>> two_blocks(const Touch& x, const Touch& y,
                                                         const WildThreads& wild);
  static std::optional<RaceKey> race_of(WayPair ways, AccessTag first, AccessTag second,
                                        const StoreValues& values);

  const std::vector<AccessRole>& roles_;
  std::vector<bool> exchanges_;  ///< by instruction: atomics that do not build on the old value
  std::vector<Region> regions_;
  GridStores stores_;
  std::array<Shelf, 64> shelves_;
  std::uint64_t most_bytes_;
  std::atomic<std::uint64_t> bytes_used_{0};
  std::atomic<bool> overflowed_{false};
};

template <class Visit>
void GridSummary::visit_cell(const Page& page, std::uint32_t cell, Visit visit) {
  for (const Way way :
       {plain_write, plain_read, strong_write, strong_read, atomic_write, block_atomic}) {
    const std::optional<Touch> touch = page.touched(way, cell);
    if (!touch) continue;
    visit(Contact{verb_of(way, touch->of_lowest),
                  strong(way),
                  {touch->lowest, touch->of_lowest},
                  {touch->highest, touch->of_highest}});
  }
}

template <class Visit>
void GridSummary::visit_contacts(std::uint64_t address, std::uint32_t bytes, Visit visit) const {
  const Region* of = region(address);
  if (of == nullptr) return;
  const Page* page = of->pages[address / ShadowPage::kBytes - of->begin / ShadowPage::kBytes];
  if (page == nullptr) return;
  const auto offset = static_cast<std::uint32_t>(address % ShadowPage::kBytes);
  const std::uint32_t unit = ShadowPage::kBytes / page->cells();
  for (std::uint32_t c = offset / unit; c * unit < offset + bytes; ++c) visit_cell(*page, c, visit);
}

template <class Visit>
void GridSummary::for_contacts(Visit visit) const {
  for (const Region& region : regions_) {
    for (std::size_t p = 0; p < region.pages.size(); ++p) {
      const Page* page = region.pages[p];
      if (page == nullptr) continue;
      const std::uint64_t start = (region.begin / ShadowPage::kBytes + p) * ShadowPage::kBytes;
      const std::uint32_t unit = ShadowPage::kBytes / page->cells();
      for (std::uint32_t c = 0; c < page->cells(); ++c) {
        visit_cell(*page, c,
                   [&](const Contact& contact) { visit(start + c * unit, unit, contact); });
      }
    }
  }
}

template <class Visit>
void GridSummary::for_written(Visit visit) const {
  for (const Region& region : regions_) {
    for (std::size_t p = 0; p < region.pages.size(); ++p) {
      const Page* page = region.pages[p];
      if (page == nullptr || !page->is_written()) continue;
      const std::uint64_t start = (region.begin / ShadowPage::kBytes + p) * ShadowPage::kBytes;
      if (page->is_written_in_rows()) {
        for (const TouchRow& row : page->rows[plain_write]) {
          visit(start + row.begin * 4u, std::uint64_t{4} * (row.end - row.begin));
        }
        continue;
      }
      const std::uint32_t cells = page->cells(), unit = ShadowPage::kBytes / cells;
      const auto written = [&](std::uint32_t cell) {
        return page->touched(plain_write, cell) || page->touched(strong_write, cell) ||
               page->touched(atomic_write, cell) || page->touched(block_atomic, cell);
      };
      for (std::uint32_t c = 0; c < cells; ++c) {
        const std::uint32_t first = c;
        while (c < cells && written(c)) ++c;
        if (c != first) visit(start + first * unit, std::uint64_t{c - first} * unit);
      }
    }
  }
}

}  // namespace tilescope::observe
