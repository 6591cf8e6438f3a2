#include "observe/check/race_checker.hpp"

#include <algorithm>
#include <bit>

namespace tilescope::observe {
namespace {

using emulator::AccessKind;
using emulator::LaneMask;

/// Later than any epoch: pending writes are never out of date.
constexpr std::uint32_t kNeverOrdered = 0xffffffffu;

/// Calls visit(address, number of the first cell, count) for neighbouring cells in the same page,
/// as many as a WordRun has.
template <class Visit>
void for_page_runs(const LaneCells& cells, std::uint64_t base, Visit visit) {
  std::uint32_t first = 0;
  for (const Run& run : cells.runs) {
    std::uint64_t address = base + static_cast<std::uint64_t>(run.offset);
    for (std::uint32_t left = run.bytes / cells.unit; left != 0;) {
      const auto in_page = static_cast<std::uint32_t>(address % ShadowPage::kBytes);
      const std::uint32_t count =
          std::min({left, (ShadowPage::kBytes - in_page) / cells.unit, WordRun::kMost});
      visit(address, first, count);
      address += std::uint64_t{count} * cells.unit;
      first += count;
      left -= count;
    }
  }
}

bool both_atomic(Strength a, Strength b) {
  return a == Strength::atomic && b == Strength::atomic;
}

}  // namespace

Strength strength_of(const emulator::Access& access) {
  switch (access.kind) {
    case AccessKind::atomic:
    case AccessKind::reduction:
      return Strength::atomic;
    case AccessKind::async_store:
      return Strength::pending;
    default:
      break;
  }
  switch (access.order) {
    case emulator::MemoryOrder::weak:
      return Strength::plain;
    case emulator::MemoryOrder::volatile_:
      return Strength::volatile_;
    default:
      return Strength::atomic;
  }
}

AccessVerb verb_of(AccessKind kind) {
  switch (kind) {
    case AccessKind::load:
    case AccessKind::async_load:
    case AccessKind::matrix_load:
    case AccessKind::texture_load:
    case AccessKind::surface_load:
      return AccessVerb::read;
    case AccessKind::atomic:
    case AccessKind::reduction:
    case AccessKind::surface_reduction:
      return AccessVerb::atomic;
    default:
      return AccessVerb::write;
  }
}

template <class Shadow>
void RaceChecker::access_simply(Now& now, const LaneCells& cells, std::uint64_t base,
                                AccessVerb verb, Shadow& shadow) {
  const WordAccess access(order_.epoch(), order_.time(), order_.whole_warp(now.warp),
                          AccessTag::of(now.instruction, now.warp, 0, Strength::plain).bits);
  const std::uint32_t changed = verb == AccessVerb::read ? 0 : order_.time();
  for_page_runs(cells, base, [&](std::uint64_t address, std::uint32_t first, std::uint32_t count) {
    ShadowPage* const page = open(address, changed, shadow);
    if (page == nullptr) return;
    const auto offset = static_cast<std::uint32_t>(address % ShadowPage::kBytes);
    page->touch(offset, count * cells.unit);
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

/// The page of an address, for an access that its cells take part in at once. `changed`: the time
/// of a change, or 0.
ShadowPage* RaceChecker::open(std::uint64_t address, std::uint32_t changed, SharedShadow& shadow) {
  ShadowPage* const page = shadow.page(address);
  if (page->quiet == order_.epoch()) {
    settle(shadow);
    if (changed != 0) page->quiet = 0;
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

template <class Shadow>
void RaceChecker::access(const emulator::Access& access, const LaneCells& cells, Shadow& shadow) {
  const std::uint64_t base = base_address(access);
  const AccessVerb verb = verb_of(access.kind);
  Now now{access, access.instruction, access.warp, 0, 0, 4, access.space, strength_of(access)};
  if (now.strength == Strength::plain && verb != AccessVerb::atomic &&
      order_.is_simple(access.warp)) {
    return access_simply(now, cells, base, verb, shadow);
  }
  const std::uint32_t changed = verb == AccessVerb::read            ? 0
                                : now.strength == Strength::pending ? kNeverOrdered
                                                                    : order_.time();
  for (const TouchedCell& touched : cells.cells) {
    now.address = base + static_cast<std::uint64_t>(touched.offset);
    now.lanes = touched.lanes;
    ShadowPage* page = open(now.address, changed, shadow);
    if (page == nullptr) continue;
    const auto offset = static_cast<std::uint32_t>(now.address % ShadowPage::kBytes);
    page->touch(offset, cells.unit);
    if (cells.unit == 1 && !page->by_bytes) page->split();
    if (!page->by_bytes) {
      now.bytes = 4;
      touch(*page, offset / 4, now, verb);
    } else {
      now.bytes = 1;
      for (std::uint32_t i = 0; i < cells.unit; ++i) {
        touch(*page, offset + i, now, verb);
        ++now.address;
      }
    }
  }
}
template void RaceChecker::access(const emulator::Access&, const LaneCells&, SharedShadow&);
template void RaceChecker::access(const emulator::Access&, const LaneCells&, GlobalShadow&);

/// Whether the page has not been changed since the last barrier of the block. From then on reads
/// of it are logged.
bool RaceChecker::quieten(ShadowPage& page) const {
  const std::uint32_t epoch = order_.epoch();
  if (page.by_bytes) return false;
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

bool RaceChecker::log_read(std::uint32_t instruction, std::uint32_t warp, const LaneCells& cells,
                           std::uint64_t base, SharedShadow& shadow) {
  const std::uint32_t epoch = order_.epoch();
  for (const Run& run : cells.runs) {
    const std::uint64_t begin = base + static_cast<std::uint64_t>(run.offset);
    const std::uint64_t last = (begin + run.bytes - 1) / ShadowPage::kBytes;
    for (std::uint64_t p = begin / ShadowPage::kBytes; p <= last; ++p) {
      ShadowPage& page = *shadow.page(p * ShadowPage::kBytes);
      if (page.quiet != epoch && !quieten(page)) return false;
    }
  }
  ReadLog& log = shadow.log;
  if (log.epoch != epoch) {
    log.reads.clear();
    log.epoch = epoch;
  }
  if (log.reads.size() == ReadLog::kMost) settle(shadow);
  log.reads.push_back({&cells, base, order_.time(), order_.whole_warp(warp),
                       AccessTag::of(instruction, warp, 0, Strength::plain).bits});
  cells.logged = epoch;
  return true;
}

void RaceChecker::settle(SharedShadow& shadow) {
  ReadLog& log = shadow.log;
  if (log.epoch == order_.epoch()) {
    for (const LoggedRead& read : log.reads) {
      const WordAccess words(log.epoch, read.time, read.whole_warp, read.lane_0);
      for_page_runs(*read.cells, read.base,
                    [&](std::uint64_t address, std::uint32_t first, std::uint32_t count) {
                      ShadowPage& page = *shadow.page(address);
                      const auto offset = static_cast<std::uint32_t>(address % ShadowPage::kBytes);
                      page.touch(offset, count * 4);
                      words.remember_readers(page.cells,
                                             read.cells->words(first, offset / 4, count));
                    });
    }
  }
  log.reads.clear();
}

void RaceChecker::finish_copy(std::uint64_t address, std::uint32_t bytes, std::uint32_t warp,
                              int lane, SharedShadow& shadow) {
  const std::uint32_t copier = AccessTag::of(0, warp, lane, Strength::pending).thread_bits();
  for (std::uint64_t at = address; at < address + bytes;) {
    ShadowPage* page = shadow.page(at);
    const std::uint64_t end = std::min(address + bytes, page->base + ShadowPage::kBytes);
    for (; at < end; at += page->by_bytes ? 1 : 4 - at % 4) {
      const auto cell = static_cast<std::uint32_t>((at - page->base) / (page->by_bytes ? 1 : 4));
      std::uint32_t& writer = page->cells.at(cell, CellRecords::write_tag);
      if (AccessTag{writer}.thread_bits() != copier) continue;
      writer = AccessTag::of(AccessTag{writer}.instruction(), warp, lane, Strength::plain).bits;
      page->cells.at(cell, CellRecords::write_time) = order_.time();
    }
  }
}

void RaceChecker::overwrite_source(const Event& copy, const emulator::Access& access, int lane,
                                   std::uint64_t address) {
  // Without any order it is a race like others, which the caller finds.
  if (!order_.ordered(copy, access.warp, lane)) return;
  const Now now{
      access, access.instruction, access.warp,        emulator::LaneMask{1} << lane, address,
      1,      access.space,       strength_of(access)};
  report(copy, AccessVerb::read, now, verb_of(access.kind), lane, RaceRelation::copy_source);
}

void RaceChecker::touch(ShadowPage& page, std::uint32_t number, const Now& now, AccessVerb verb) {
  Cell cell = page.cells[number];
  switch (verb) {
    case AccessVerb::read:
      read(cell, now);
      break;
    case AccessVerb::write:
      write(cell, now);
      break;
    case AccessVerb::atomic:
      atomic(cell, now);
      break;
  }
  page.cells.set(number, cell);
}

void RaceChecker::read(Cell& cell, const Now& now) {
  const std::uint32_t epoch = order_.epoch();
  if (cell.write.time >= epoch) [[unlikely]] {
    check(cell.write, AccessVerb::write, now, AccessVerb::read);
  }
  if (cell.atomic.time >= epoch) [[unlikely]] {
    check(cell.atomic, AccessVerb::atomic, now, AccessVerb::read);
  }
  // The first two lanes represent all of them.
  const LaneMask rest = now.lanes & (now.lanes - 1);
  const auto reader = [&](LaneMask lanes) {
    return Event{order_.time(),
                 AccessTag::of(now.instruction, now.warp, std::countr_zero(lanes), now.strength)};
  };
  if (cell.reader[0].time < epoch) {
    cell.reader[0] = reader(now.lanes);
  } else {
    remember_reader(cell, reader(now.lanes));
  }
  // If the warp is not among the readers now, both are of other warps that nothing orders before
  // this one: the second lane fares as the first.
  if (rest != 0 &&
      (cell.reader[0].tag.warp() == now.warp || cell.reader[1].tag.warp() == now.warp)) {
    remember_reader(cell, reader(rest));
  }
}

void RaceChecker::remember_reader(Cell& cell, const Event& reader) {
  Event& first = cell.reader[0];
  Event& second = cell.reader[1];
  const std::uint32_t warp = reader.tag.warp();
  const int lane = reader.tag.lane();
  // Accesses ordered after this reader are ordered after all that precede it.
  if (order_.ordered(first, warp, lane)) {
    first = reader;
    return;
  }
  const bool other_warp = warp != first.tag.warp() && second.tag.warp() == first.tag.warp();
  if (other_warp || order_.ordered(second, warp, lane)) second = reader;
}

void RaceChecker::write(Cell& cell, const Now& now) {
  const std::uint32_t epoch = order_.epoch();
  const Event mine{
      now.strength == Strength::pending ? kNeverOrdered : order_.time(),
      AccessTag::of(now.instruction, now.warp, std::countr_zero(now.lanes), now.strength)};
  const LaneMask rest = now.lanes & (now.lanes - 1);
  if (rest != 0 && now.strength != Strength::atomic &&
      !values_.equal(now.instruction, now.instruction, true)) {
    report(mine, AccessVerb::write, now, AccessVerb::write, std::countr_zero(rest),
           RaceRelation::same_instruction);
  }
  if (cell.write.time >= epoch) [[unlikely]] {
    check(cell.write, AccessVerb::write, now, AccessVerb::write);
  }
  if (cell.atomic.time >= epoch) [[unlikely]] {
    check(cell.atomic, AccessVerb::atomic, now, AccessVerb::write);
  }
  for (const Event& reader : cell.reader) {
    if (reader.time >= epoch) [[unlikely]] {
      check(reader, AccessVerb::read, now, AccessVerb::write);
    }
  }
  cell.write = mine;
}

void RaceChecker::atomic(Cell& cell, const Now& now) {
  const std::uint32_t epoch = order_.epoch();
  if (cell.write.time >= epoch) [[unlikely]] {
    check(cell.write, AccessVerb::write, now, AccessVerb::atomic);
  }
  for (const Event& reader : cell.reader) {
    if (reader.time >= epoch) [[unlikely]] {
      check(reader, AccessVerb::read, now, AccessVerb::atomic);
    }
  }
  cell.atomic = {order_.time(), AccessTag::of(now.instruction, now.warp,
                                              std::countr_zero(now.lanes), now.strength)};
}

void RaceChecker::check(const Event& earlier, AccessVerb earlier_verb, const Now& now,
                        AccessVerb verb) {
  const bool same_warp = earlier.tag.warp() == now.warp;
  if (earlier.tag.strength() == Strength::pending) {
    // Not even the thread that started the copy may touch the target before it has waited. Its own
    // next copy to the same place is not ordered either.
    report(earlier, earlier_verb, now, verb, std::countr_zero(now.lanes),
           RaceRelation::unfinished_copy);
    return;
  }
  if (both_atomic(earlier.tag.strength(), now.strength)) return;
  for (LaneMask m = now.lanes; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    if (order_.ordered(earlier, now.warp, lane)) {
      if (!same_warp) return;  // true for every lane then
      continue;
    }
    if (earlier_verb == AccessVerb::write && verb == AccessVerb::write &&
        values_.equal(earlier.tag.instruction(), now.instruction, true)) {
      return;
    }
    const RaceRelation relation = order_.heard(earlier, now.warp) ? RaceRelation::relaxed_flag
                                  : same_warp                     ? RaceRelation::same_warp
                                                                  : RaceRelation::same_block;
    report(earlier, earlier_verb, now, verb, lane, relation);
    return;
  }
}

/// Whether a race of two writes leaves the same bits whoever comes first.
bool RaceChecker::writes_same_bits(const Now& now, RaceRelation relation, int lane) const {
  if (!roles_[now.instruction].stores) return false;
  const auto bits = [&](int of) {
    return emulator::stored_bits(now.access, of, now.address, now.bytes);
  };
  if (relation != RaceRelation::same_instruction) {
    return bits(lane) == emulator::present_bits(now.access, now.address, now.bytes);
  }
  for (LaneMask m = now.lanes; m != 0; m &= m - 1) {
    if (bits(std::countr_zero(m)) != bits(lane)) return false;
  }
  return true;
}

void RaceChecker::report(const Event& earlier, AccessVerb earlier_verb, const Now& now,
                         AccessVerb verb, int lane, RaceRelation relation) {
  const AccessTag later = AccessTag::of(now.instruction, now.warp, lane, now.strength);
  if (wild_.contains(block_, earlier.tag.thread()) || wild_.contains(block_, later.thread()))
    return;
  const bool same_bits = earlier_verb == AccessVerb::write && verb == AccessVerb::write &&
                         writes_same_bits(now, relation, lane);
  const RaceKey key{earlier.tag.instruction(),
                    now.instruction,
                    earlier_verb,
                    verb,
                    relation,
                    now.space,
                    same_bits};
  const RaceExample example{1, block_, block_, earlier.tag, later, now.address};
  if (!is_volatile_pair(earlier.tag, later)) {
    log_.add(key, example);
  } else if (flags_.use(now.space, now.address) != FlagWords::Use::waits) {
    volatile_.add(key, example);
  }
}

}  // namespace tilescope::observe
