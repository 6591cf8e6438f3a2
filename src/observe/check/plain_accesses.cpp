// Plain loads and stores while the order is simple (BlockOrder::is_simple): what the thorough way
// does to their cells one by one, many at a time. What may race is left to it.
#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "observe/check/race_checker.hpp"

namespace tilescope::observe {
namespace {

/// So many reads of a page are not logged after those of the log had to become records.
constexpr std::uint32_t kReadsUnlogged = 256;

/// Neighbouring cells of an access in the same page, as many as a WordRun has.
struct PageRun {
  std::uint64_t address;
  std::uint32_t first, count;  ///< of the access's cells
  std::size_t run;             ///< of the access, and the cells of it that precede these:
  std::uint32_t in_run;
};

template <class Visit>
void for_page_runs(const LaneCells& cells, std::uint64_t base, Visit visit) {
  std::uint32_t first = 0;
  for (std::size_t r = 0; r < cells.runs.size(); ++r) {
    const Run& run = cells.runs[r];
    const std::uint64_t begin = base + static_cast<std::uint64_t>(run.offset);
    const std::uint32_t all = run.bytes / cells.unit;
    for (std::uint32_t done = 0; done < all;) {
      const std::uint64_t address = begin + std::uint64_t{done} * cells.unit;
      const auto in_page = static_cast<std::uint32_t>(address % ShadowPage::kBytes);
      const std::uint32_t count =
          std::min({all - done, (ShadowPage::kBytes - in_page) / cells.unit, WordRun::kMost});
      visit(PageRun{address, first + done, count, r, done});
      done += count;
    }
    first += all;
  }
}

}  // namespace

template <class Shadow>
void RaceChecker::access_simply(Now& now, const LaneCells& cells, std::uint64_t base,
                                AccessVerb verb, Shadow& shadow) {
  const WordAccess access(order_.epoch(), order_.time(), order_.whole_warp(now.warp),
                          AccessTag::of(now.instruction, now.warp, 0, Strength::plain).bits);
  const std::uint32_t changed = verb == AccessVerb::read ? 0 : order_.time();
  if (cells.apart) return access_apart(now, access, cells, base, verb, shadow);
  for_page_runs(cells, base, [&](const PageRun& part) {
    const auto [address, first, count, run, in_run] = part;
    ShadowPage* const page = open(address, changed, shadow);
    if (page == nullptr) return;
    const auto offset = static_cast<std::uint32_t>(address % ShadowPage::kBytes);
    page->touch(offset, count * cells.unit);
    if (page->by_rows) {
      if (access_row(now, cells, run, in_run, count, verb, *page, offset / 4)) return;
      if (cells.unit != 1) page->use_cells();  // to bytes it goes at once
    }
    if (cells.unit == 1 && !page->by_bytes) page->split();
    now.bytes = page->by_bytes ? 1 : 4;
    // The cells from `number` on, whose lanes are those of the access's cells from `of` on.
    const auto look = [&](std::uint32_t number, std::uint32_t of, std::uint32_t many) {
      const WordRun run = cells.words(of, number, many);
      std::uint64_t rest = verb == AccessVerb::read
                               ? access.read(page->cells, run, page->changed >= order_.epoch())
                               : access.write(page->cells, run);
      for (; rest != 0; rest &= rest - 1) {
        const auto i = static_cast<std::uint32_t>(std::countr_zero(rest));
        now.address = page->base + std::uint64_t{number + i} * now.bytes;
        now.lanes = cells.cells[of + i].lanes;
        touch(*page, number + i, now, verb);
      }
    };
    if (cells.unit == now.bytes) {
      look(offset / cells.unit, first, count);
    } else {
      for (std::uint32_t i = 0; i < count * 4; ++i) look(offset + i, first + i / 4, 1);
    }
  });
}

void RaceChecker::load(std::uint32_t instruction, std::uint32_t warp, const LaneCells& cells,
                       std::uint64_t base, GlobalShadow& shadow) {
  Now now{nullptr, instruction, warp, 0, 0, 4, emulator::Space::global, Strength::plain};
  access_simply(now, cells, base, AccessVerb::read, shadow);
}

/// The cells of a run, from `in_run` on, in a page that has rows; false, and nothing done, if they
/// need records of their own.
bool RaceChecker::access_row(const Now& now, const LaneCells& cells, std::size_t run,
                             std::uint32_t in_run, std::uint32_t count, AccessVerb verb,
                             ShadowPage& page, std::uint32_t cell) const {
  if (cells.unit != 4 || !cells.run_lanes[run].known) return false;
  const LaneCells::RunLanes& lanes = cells.run_lanes[run];
  const RowEvent event{order_.time(), AccessTag::of(now.instruction, now.warp, 0, Strength::plain),
                       lanes.order.from(in_run)};
  const RowAccess access(order_.epoch(), order_.whole_warp(now.warp), event, lanes.second);
  return verb == AccessVerb::read ? access.read(page.rows, cell, cell + count)
                                  : access.write(page.rows, cell, cell + count);
}

/// As access_simply, for words that lie apart.
template <class Shadow>
void RaceChecker::access_apart(Now& now, const WordAccess& access, const LaneCells& cells,
                               std::uint64_t base, AccessVerb verb, Shadow& shadow) {
  const std::uint32_t changed = verb == AccessVerb::read ? 0 : order_.time();
  const WordRun lanes = cells.words(0, 0, static_cast<std::uint32_t>(cells.cells.size()));
  ScatteredWords words;
  std::array<ShadowPage*, ScatteredWords::kMost> pages;
  ShadowPage* page = nullptr;
  std::uint64_t number = ~std::uint64_t{0};  // of the page
  for (std::uint32_t i = 0; i < lanes.count; ++i) {
    const std::uint64_t address = base + static_cast<std::uint64_t>(cells.cells[i].offset);
    if (address / ShadowPage::kBytes != number) {
      number = address / ShadowPage::kBytes;
      page = open(address, changed, shadow);
    }
    if (page == nullptr) continue;
    const auto offset = static_cast<std::uint32_t>(address % ShadowPage::kBytes);
    page->touch(offset, 4);
    if (page->by_rows) {
      if (access_row(now, cells, i, 0, 1, verb, *page, offset / 4)) continue;
      page->use_cells();
    }
    if (page->by_bytes) {
      now.bytes = 1;
      now.lanes = cells.cells[i].lanes;
      for (now.address = address; now.address < address + 4; ++now.address) {
        touch(*page, static_cast<std::uint32_t>(now.address - page->base), now, verb);
      }
      continue;
    }
    const std::uint32_t n = words.count++;
    pages[n] = page;
    words.records[n] = &page->cells;
    words.cell[n] = offset / 4;
    words.first[n] = lanes.first[i];
    words.second[n] = lanes.second[i];
    words.changed |= std::uint32_t{page->changed >= order_.epoch()} << n;
  }
  std::uint64_t rest = verb == AccessVerb::read ? access.read(words) : access.write(words);
  now.bytes = 4;
  for (; rest != 0; rest &= rest - 1) {
    const auto n = static_cast<std::size_t>(std::countr_zero(rest));
    now.address = pages[n]->base + std::uint64_t{words.cell[n]} * 4;
    // The lanes of the word: its address tells which.
    const auto found = std::lower_bound(
        cells.cells.begin(), cells.cells.end(), static_cast<std::int64_t>(now.address - base),
        [](const TouchedCell& cell, std::int64_t offset) { return cell.offset < offset; });
    now.lanes = found->lanes;
    touch(*pages[n], words.cell[n], now, verb);
  }
}

/// The page of an address, for an access that its cells take part in at once. `changed`: the time
/// of a change, or 0.
ShadowPage* RaceChecker::open(std::uint64_t address, std::uint32_t changed, SharedShadow& shadow) {
  ShadowPage* const page = shadow.page(address);
  if (page->quiet == order_.epoch()) {
    settle(shadow);
    if (changed != 0) {
      page->quiet = 0;
      page->unlogged = kReadsUnlogged;
    }
  }
  page->changed = std::max(page->changed, changed);
  return page;
}
/// Null if there is no memory for records.
ShadowPage* RaceChecker::open(std::uint64_t address, std::uint32_t changed, GlobalShadow& shadow) {
  ShadowPage* const page = shadow.page(address);
  if (page != nullptr) page->changed = std::max(page->changed, changed);
  return page;
}
template void RaceChecker::access_simply(Now&, const LaneCells&, std::uint64_t, AccessVerb,
                                         SharedShadow&);
template void RaceChecker::access_simply(Now&, const LaneCells&, std::uint64_t, AccessVerb,
                                         GlobalShadow&);

/// Whether the page has not been changed since the last barrier of the block. From then on reads
/// of it are logged.
bool RaceChecker::quieten(ShadowPage& page) const {
  const std::uint32_t epoch = order_.epoch();
  if (page.by_bytes) return false;
  if (page.unlogged != 0) {
    --page.unlogged;
    return false;
  }
  if (page.changed == kNeverOrdered) {  // copies that may be over
    page.changed = 0;
    for (std::uint32_t i = 0; i < ShadowPage::kBytes / 4; ++i) {
      page.changed = std::max({page.changed, page.cells.at(i, CellRecords::write_time),
                               page.cells.at(i, CellRecords::atomic_time)});
    }
  }
  if (page.changed >= epoch) return false;
  page.quiet = epoch;
  return true;
}

bool RaceChecker::may_log(std::span<const Run> runs, std::uint64_t base,
                          SharedShadow& shadow) const {
  const std::uint32_t epoch = order_.epoch();
  std::uint64_t looked_at = ~std::uint64_t{0};
  for (const Run& run : runs) {
    const std::uint64_t begin = base + static_cast<std::uint64_t>(run.offset);
    const std::uint64_t last = (begin + run.bytes - 1) / ShadowPage::kBytes;
    for (std::uint64_t p = begin / ShadowPage::kBytes; p <= last; ++p) {
      if (std::exchange(looked_at, p) == p) continue;
      ShadowPage& page = *shadow.page(p * ShadowPage::kBytes);
      if (page.quiet != epoch && !quieten(page)) return false;
    }
  }
  return true;
}

/// The log with room for one more read.
ReadLog& RaceChecker::open_log(SharedShadow& shadow) {
  ReadLog& log = shadow.log;
  if (log.epoch != order_.epoch()) {
    log.clear();
    log.epoch = order_.epoch();
  }
  if (log.full()) settle(shadow);
  return log;
}

void RaceChecker::log_read(std::uint32_t instruction, std::uint32_t warp, const LaneCells& cells,
                           std::uint64_t base, SharedShadow& shadow) {
  open_log(shadow).reads.push_back({&cells, nullptr, base, order_.time(), order_.whole_warp(warp),
                                    AccessTag::of(instruction, warp, 0, Strength::plain).bits});
  cells.logged = order_.epoch();
}

void RaceChecker::log_reads(const KnownLoads& loads, std::uint32_t warp,
                            std::span<const std::uint64_t> starts, SharedShadow& shadow) {
  ReadLog& log = open_log(shadow);
  log.reads.push_back({nullptr, &loads, log.starts.size(), order_.time(), order_.whole_warp(warp),
                       AccessTag::of(0, warp, 0, Strength::plain).bits});
  log.starts.insert(log.starts.end(), starts.begin(), starts.end());
}

void RaceChecker::settle(SharedShadow& shadow) {
  ReadLog& log = shadow.log;
  const auto remember = [&](const LoggedRead& read, const LaneCells& cells, std::uint64_t base,
                            std::uint32_t lane_0) {
    const WordAccess words(log.epoch, read.time, read.whole_warp, lane_0);
    for_page_runs(cells, base, [&](const PageRun& run) {
      ShadowPage& page = *shadow.page(run.address);
      const auto offset = static_cast<std::uint32_t>(run.address % ShadowPage::kBytes);
      page.touch(offset, run.count * 4);
      words.remember_readers(page.cells, cells.words(run.first, offset / 4, run.count));
    });
  };
  if (log.epoch == order_.epoch()) {
    for (const LoggedRead& read : log.reads) {
      if (read.group == nullptr) {
        remember(read, *read.cells, read.base, read.lane_0);
        continue;
      }
      for (const KnownLoads::Load& load : read.group->loads) {
        const std::uint64_t start = log.starts[read.base + load.stretch];
        remember(read, *load.cells, start + static_cast<std::uint64_t>(load.offset),
                 read.lane_0 | AccessTag::of(load.instruction, 0, 0, Strength::plain).bits);
      }
    }
  }
  log.clear();
}

}  // namespace tilescope::observe
