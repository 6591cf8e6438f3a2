#include "observe/check/grid_summary.hpp"

#include <algorithm>

namespace tilescope::observe {

namespace {

constexpr std::size_t kAhead = 4;  ///< pages that are fetched meanwhile

}  // namespace

GridSummary::GridSummary(const emulator::MemoryMap& memory, const emulator::Program& program,
                         const std::vector<AccessRole>& roles, std::uint64_t most_bytes)
    : roles_(roles), most_bytes_(most_bytes) {
  for (const emulator::InstructionInfo& info : program.instructions()) {
    exchanges_.push_back(info.source->modifiers.reduce == ptx::ReduceOp::exch);
  }
  for (const auto& [address, allocation] : memory.allocations()) {
    if (allocation.kind() == emulator::AllocationKind::device_heap || allocation.bytes() == 0) {
      continue;
    }
    Region region{address, allocation.bytes(), {}};
    const std::uint64_t first = address / ShadowPage::kBytes;
    const std::uint64_t last = (address + allocation.bytes() - 1) / ShadowPage::kBytes;
    region.pages.resize(last - first + 1);
    regions_.push_back(std::move(region));
  }
}

GridSummary::Region* GridSummary::region(std::uint64_t address) {
  auto after =
      std::upper_bound(regions_.begin(), regions_.end(), address,
                       [](std::uint64_t a, const Region& region) { return a < region.begin; });
  if (after == regions_.begin()) return nullptr;
  --after;
  // A page may begin before the allocation does.
  return address < after->begin + after->bytes ? &*after : nullptr;
}

std::uint64_t GridSummary::page_bytes() {
  return sizeof(Page);
}

bool GridSummary::take_memory(std::uint64_t bytes) {
  if (bytes_used_.fetch_add(bytes) + bytes <= most_bytes_) return true;
  bytes_used_ -= bytes;
  overflowed_ = true;
  return false;
}

/// From words to bytes; every byte inherits the record of its word.
bool GridSummary::split(Page& page) {
  for (const Way way : {plain_write, plain_read}) {
    if (!page.rows[way].empty() && !make_touches(page, way)) return false;
  }
  const auto ways_in_use = static_cast<std::uint64_t>(std::count_if(
      page.touches.begin(), page.touches.end(), [](const auto& of) { return bool(of); }));
  constexpr std::uint64_t added_cells = ShadowPage::kBytes - ShadowPage::kBytes / 4;
  if (!take_memory(ways_in_use * added_cells * sizeof(Touch))) return false;
  for (auto& of : page.touches) {
    if (!of) continue;
    TouchRecords bytes(ShadowPage::kBytes);
    for (std::uint32_t i = 0; i < ShadowPage::kBytes; ++i) bytes.set(i, of[i / 4]);
    of = std::move(bytes);
  }
  page.by_bytes = true;
  return true;
}

void GridSummary::add(std::uint64_t block, const GlobalShadow& shadow, const LoneStores& stores,
                      std::uint32_t block_start) {
  stores_.add(block, stores);
  Region* of = nullptr;
  Shelf* shelf = nullptr;
  std::unique_lock<std::mutex> lock;
  for (ShadowPage* const touched : shadow.pages()) {
    if (touched->high == 0) continue;
    const std::uint64_t address = touched->base + touched->low;
    if (of == nullptr || address - of->begin >= of->bytes) of = region(address);
    if (of == nullptr) continue;
    const std::uint64_t number = touched->base / ShadowPage::kBytes;
    Shelf& its = shelves_[number / Shelf::kTogether % shelves_.size()];
    if (shelf != &its) {
      if (lock) lock.unlock();
      lock = std::unique_lock(its.lock);
      shelf = &its;
    }
    Page*& page = of->pages[number - of->begin / ShadowPage::kBytes];
    if (page == nullptr) {
      if (!take_memory(sizeof(Page))) continue;
      page = shelf->add();
    }
    if (touched->by_bytes && !page->by_bytes && !split(*page)) continue;
    add_page(static_cast<std::uint32_t>(block), *touched, block_start, *page);
  }
  if (shadow.overflowed()) overflowed_ = true;
}

GridSummary::Way GridSummary::way_of_write(AccessTag tag) const {
  const bool wide = is_strong(tag) && !roles_[tag.instruction()].block_scope;
  return wide ? strong_write : plain_write;
}

GridSummary::Way GridSummary::way_of_atomic(AccessTag tag) const {
  if (roles_[tag.instruction()].block_scope) return block_atomic;
  return exchanges_[tag.instruction()] ? strong_write : atomic_write;
}

bool GridSummary::make_touches(Page& page, Way way) {
  if (page.touches[way]) return true;
  if (!take_memory(page.cells() * sizeof(Touch))) return false;
  page.touches[way] = TouchRecords(page.cells());
  if (way < page.rows.size()) {
    for (const TouchRow& row : page.rows[way]) {
      for (std::uint32_t c = row.begin; c < row.end; ++c) page.touches[way].set(c, row.at(c));
    }
    page.rows[way].clear();
  }
  return true;
}

void GridSummary::note_row(Page& page, Way way, const CellRow& row, std::uint32_t block,
                           const RowEvent& event) {
  const RowThreads threads{event.lane_0, event.lanes};
  if (!page.touches[way] && page.rows[way].note(row.begin, row.end, block, threads)) return;
  if (!make_touches(page, way)) return;
  for (std::uint32_t c = row.begin; c < row.end; ++c) {
    page.touches[way].note(c, block, threads.tag(c - row.begin));
  }
}

/// As add_page, for cells of one size that were accessed in plain ways only; false, and nothing
/// done, if there are others, or if memory may not last.
bool GridSummary::add_plain(std::uint32_t block, ShadowPage& shadow, std::uint32_t block_start,
                            Page& page) {
  if (shadow.by_rows && !page.by_bytes) {
    for (const CellRow& row : shadow.rows) {
      if (row.write.time >= block_start) note_row(page, plain_write, row, block, row.write);
      if (row.first.time >= block_start) note_row(page, plain_read, row, block, row.first);
    }
    return true;
  }
  shadow.use_cells();
  const std::uint64_t added = 2 * page.cells() * sizeof(Touch);
  if (page.by_bytes != shadow.by_bytes || bytes_used_ + added > most_bytes_) return false;
  const std::uint32_t unit = shadow.by_bytes ? 1 : 4;
  const TouchedCells cells{shadow.cells, shadow.low / unit, (shadow.high + unit - 1) / unit, block,
                           block_start};
  const TouchSummary summary = summarise(cells);
  if (summary.others) return false;
  if (summary.writes && make_touches(page, plain_write)) {
    note_writes(cells, page.touches[plain_write]);
  }
  if (summary.reads && make_touches(page, plain_read)) {
    note_readers(cells, page.touches[plain_read]);
  }
  return true;
}

void GridSummary::add_page(std::uint32_t block, ShadowPage& shadow, std::uint32_t block_start,
                           Page& page) {
  if (add_plain(block, shadow, block_start, page)) return;
  const std::uint32_t unit = shadow.by_bytes ? 1 : 4;
  for (std::uint32_t at = shadow.low / unit; at < (shadow.high + unit - 1) / unit; ++at) {
    const Cell& cell = shadow.cells[at];
    // A word of the block may be four bytes here.
    const std::uint32_t copies = page.by_bytes && !shadow.by_bytes ? 4 : 1;
    for (std::uint32_t i = 0; i < copies; ++i) {
      const std::uint32_t to = at * copies + i;
      const Event &write = cell.write, &atomic = cell.atomic;
      if (write.time >= block_start && !note(page, way_of_write(write.tag), to, block, write.tag)) {
        return;
      }
      if (atomic.time >= block_start &&
          !note(page, way_of_atomic(atomic.tag), to, block, atomic.tag)) {
        return;
      }
      for (const Event& reader : cell.reader) {
        if (reader.time < block_start) continue;
        const bool wide = way_of_write(reader.tag) == strong_write;
        if (!note(page, wide ? strong_read : plain_read, to, block, reader.tag)) return;
      }
    }
  }
}

bool GridSummary::note(Page& page, Way way, std::uint32_t cell, std::uint32_t block,
                       AccessTag tag) {
  if (!make_touches(page, way)) return false;
  page.touches[way].note(cell, block, tag);
  return true;
}

std::optional<std::pair<GridSummary::Side, GridSummary::Side>> GridSummary::two_blocks(
    const Touch& x, const Touch& y, const WildThreads& wild) {
  const auto sides = [&](const Touch& touch) {
    return std::array<Side, 2>{Side{touch.lowest, touch.of_lowest},
                               Side{touch.highest, touch.of_highest}};
  };
  for (const Side& first : sides(x)) {
    for (const Side& second : sides(y)) {
      if (first.block == second.block || wild.contains(first.block, first.tag.thread()) ||
          wild.contains(second.block, second.tag.thread())) {
        continue;
      }
      return std::pair(first, second);
    }
  }
  return std::nullopt;
}

AccessVerb GridSummary::verb_of(Way way, AccessTag tag) {
  if (way == plain_read || way == strong_read) return AccessVerb::read;
  return tag.strength() == Strength::atomic ? AccessVerb::atomic : AccessVerb::write;
}

/// Nothing if the two write the same value.
std::optional<RaceKey> GridSummary::race_of(WayPair ways, AccessTag first, AccessTag second,
                                            const StoreValues& values) {
  const RaceKey key{first.instruction(),        second.instruction(),
                    verb_of(ways.first, first), verb_of(ways.second, second),
                    RaceRelation::two_blocks,   emulator::Space::global};
  if (key.earlier_verb == AccessVerb::write && key.later_verb == AccessVerb::write &&
      values.equal(key.earlier, key.later, false)) {
    return std::nullopt;
  }
  return key;
}

std::uint64_t GridSummary::Page::contended(WayPair of) const {
  if (touches[of.first] || touches[of.second]) return ~std::uint64_t{0};
  const auto words_below = [](std::uint32_t end) {
    return end >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << end) - 1;
  };
  std::uint64_t words = 0;
  for (const TouchRow& x : rows[of.first]) {
    for (const TouchRow& y : rows[of.second]) {
      const std::uint32_t begin = std::max(x.begin, y.begin), end = std::min(x.end, y.end);
      const bool one_block = std::min(x.lowest, y.lowest) == std::max(x.highest, y.highest);
      if (begin < end && !one_block) words |= words_below(end) & ~words_below(begin);
    }
  }
  return words;
}

/// Asks for the parts of a page that tell what it has.
void GridSummary::prefetch(const Page* page) {
  if (page == nullptr) return;
  __builtin_prefetch(page);
  for (const TouchRows& rows : page->rows) __builtin_prefetch(&rows);
}

void GridSummary::find_races(const StoreValues& values, const WildThreads& wild, RaceLog& races,
                             VolatileRaces& volatile_races) const {
  constexpr WayPair kRacing[] = {
      {plain_write, plain_write},   {plain_write, plain_read},    {plain_write, strong_write},
      {plain_write, strong_read},   {strong_write, plain_read},   {plain_write, atomic_write},
      {atomic_write, plain_read},   {strong_write, strong_write}, {strong_write, strong_read},
      {strong_write, atomic_write}, {atomic_write, strong_read},  {block_atomic, block_atomic},
      {block_atomic, plain_write},  {block_atomic, plain_read},   {block_atomic, strong_write},
      {block_atomic, strong_read},  {block_atomic, atomic_write}};
  std::vector<WayPair> of_page;
  const auto add = [&](const Page& page, WayPair ways, std::uint32_t cell, std::uint64_t address) {
    const std::optional<Touch> x = page.touched(ways.first, cell);
    const std::optional<Touch> y = page.touched(ways.second, cell);
    if (!x || !y) return;
    const bool one_block = x->lowest == x->highest && y->lowest == y->highest;
    if (one_block && x->lowest == y->lowest) return;
    const auto blocks = two_blocks(*x, *y, wild);
    if (!blocks) return;
    const auto [first, second] = *blocks;
    auto key = race_of(ways, first.tag, second.tag, values);
    if (!key) return;
    key->same_bits =
        ways.first == plain_write && ways.second == plain_write &&
        stores_.same(address, ShadowPage::kBytes / page.cells(), first.block, second.block);
    const RaceExample example{1, first.block, second.block, first.tag, second.tag, address};
    if (!strong(ways.first) || !strong(ways.second)) {
      races.add(*key, example);
    } else if (is_volatile_pair(first.tag, second.tag)) {
      volatile_races.add(*key, example);
    }
  };
  for (const Region& region : regions_) {
    const std::uint64_t start = region.begin / ShadowPage::kBytes * ShadowPage::kBytes;
    for (std::size_t p = 0; p < region.pages.size(); ++p) {
      if (p + kAhead < region.pages.size()) prefetch(region.pages[p + kAhead]);
      const Page* page = region.pages[p];
      if (page == nullptr) continue;
      // A page that is only read costs no walk over its cells, nor does one of a single block.
      if (!page->is_written() || page->has_one_block()) continue;
      of_page.clear();
      std::uint32_t present = 0;  // one bit for each way
      for (std::uint32_t way = 0; way < ways; ++way) {
        present |= std::uint32_t{page->has(static_cast<Way>(way))} << way;
      }
      for (const WayPair& pair : kRacing) {
        if ((present >> pair.first & present >> pair.second & 1u) != 0) of_page.push_back(pair);
      }
      if (of_page.empty()) continue;
      const std::uint32_t unit = ShadowPage::kBytes / page->cells();
      std::uint64_t words = 0;
      for (const WayPair pair : of_page) words |= page->contended(pair);
      if (words == 0) continue;
      for (std::uint32_t c = 0; c < page->cells(); ++c) {
        if ((words >> (c * unit / 4) & 1) == 0) continue;
        const std::uint64_t address = start + p * ShadowPage::kBytes + std::uint64_t{c} * unit;
        for (const WayPair pair : of_page) add(*page, pair, c, address);
      }
    }
  }
}

bool GridSummary::written_by_other(std::uint64_t address, std::uint64_t block, bool stored) const {
  const Region* of = region(address);
  if (of == nullptr) return true;
  const Page* page = of->pages[address / ShadowPage::kBytes - of->begin / ShadowPage::kBytes];
  if (page == nullptr) return false;
  const std::uint64_t offset = address % ShadowPage::kBytes;
  const auto cell = static_cast<std::uint32_t>(page->by_bytes ? offset : offset / 4);
  for (const Way way : {plain_write, strong_write, atomic_write, block_atomic}) {
    if (stored && (way == atomic_write || way == block_atomic)) continue;
    const std::optional<Touch> touch = page->touched(way, cell);
    if (touch && (touch->lowest != block || touch->highest != block)) return true;
  }
  return false;
}

bool GridSummary::anything_written() const {
  return std::any_of(regions_.begin(), regions_.end(), [](const Region& region) {
    return std::any_of(region.pages.begin(), region.pages.end(),
                       [](const Page* page) { return page != nullptr && page->is_written(); });
  });
}

}  // namespace tilescope::observe
