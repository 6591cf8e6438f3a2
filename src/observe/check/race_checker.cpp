#include "observe/check/race_checker.hpp"

#include <algorithm>
#include <bit>

namespace tilescope::observe {
namespace {

using emulator::AccessKind;
using emulator::LaneMask;

/// Later than any epoch: pending writes are never out of date.
constexpr std::uint32_t kNeverOrdered = 0xffffffffu;

/// A plain access of a warp to words while the order is simple (BlockOrder::is_simple). The
/// functions return false, and do nothing, where it may race: others look closer then.
class QuickAccess {
 public:
  QuickAccess(const BlockOrder& order, std::uint32_t instruction, std::uint32_t warp)
      : order_(order),
        epoch_(order.epoch()),
        time_(order.time()),
        lane_0_(AccessTag::of(instruction, warp, 0, Strength::plain).bits) {}

  bool read(Cell& cell, LaneMask lanes) const {
    const AccessTag first = tag(lanes);
    const LaneMask rest = lanes & (lanes - 1);
    if (cell.atomic.time >= epoch_) [[unlikely]] {
      return false;
    }
    if (cell.write.time >= epoch_ &&
        (rest != 0 || cell.write.tag.thread_bits() != first.thread_bits())) [[unlikely]] {
      return false;
    }
    remember(cell, first);
    if (rest == 0) return true;
    const std::uint32_t warp = first.warp();
    if (cell.reader[0].tag.warp() == warp || cell.reader[1].tag.warp() == warp) {
      remember(cell, tag(rest));
    }
    return true;
  }

  bool write(Cell& cell, LaneMask lanes) const {
    const AccessTag mine = tag(lanes);
    const auto precedes = [&](const Event& earlier) {
      return earlier.time < epoch_ || earlier.tag.thread_bits() == mine.thread_bits();
    };
    if ((lanes & (lanes - 1)) != 0 || cell.atomic.time >= epoch_ || !precedes(cell.write) ||
        !precedes(cell.reader[0]) || !precedes(cell.reader[1])) [[unlikely]] {
      return false;
    }
    cell.write = {time_, mine};
    return true;
  }

 private:
  AccessTag tag(LaneMask lanes) const {
    return {lane_0_ | static_cast<std::uint32_t>(std::countr_zero(lanes)) << 2};
  }
  bool ordered(const Event& earlier, AccessTag now) const {
    if (earlier.time < epoch_) return true;
    return ((earlier.tag.bits ^ now.bits) & AccessTag::kWarpBits) == 0 &&
           order_.ordered_simply(earlier, now);
  }
  /// As RaceChecker::remember_reader.
  void remember(Cell& cell, AccessTag reader) const {
    Event& first = cell.reader[0];
    Event& second = cell.reader[1];
    if (ordered(first, reader)) {
      first = {time_, reader};
      return;
    }
    const bool other_warp =
        reader.warp() != first.tag.warp() && second.tag.warp() == first.tag.warp();
    if (other_warp || ordered(second, reader)) second = {time_, reader};
  }

  const BlockOrder& order_;
  const std::uint32_t epoch_, time_, lane_0_;
};

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
void RaceChecker::access_words(Now& now, const LaneCells& cells, std::uint64_t base,
                               AccessVerb verb, Shadow& shadow) {
  const QuickAccess quick(order_, now.instruction, now.warp);
  const auto look_closer = [&](Cell& cell, const TouchedCell& touched) {
    now.address = base + static_cast<std::uint64_t>(touched.offset);
    now.lanes = touched.lanes;
    touch(cell, now, verb);
  };
  const TouchedCell* at = cells.cells.data();
  const TouchedCell* const end = at + cells.cells.size();
  while (at != end) {
    // The cells in one page.
    const std::uint64_t begin = base + static_cast<std::uint64_t>(at->offset);
    ShadowPage* const page = shadow.page(begin);
    const std::uint64_t in_page = begin % ShadowPage::kBytes;
    const std::int64_t first = at->offset - static_cast<std::int64_t>(in_page);
    const std::int64_t bound = first + ShadowPage::kBytes;
    const TouchedCell* const from = at;
    if (page == nullptr || page->by_bytes) {
      for (; at != end && at->offset < bound; ++at) {
        if (page == nullptr) continue;
        const auto offset = static_cast<std::uint32_t>(at->offset - first);
        page->touch(offset, 4);
        now.bytes = 1;
        for (std::uint32_t i = 0; i < 4; ++i) {
          now.address = base + static_cast<std::uint64_t>(at->offset) + i;
          now.lanes = at->lanes;
          touch(page->cells[offset + i], now, verb);
        }
      }
      continue;
    }
    now.bytes = 4;
    Cell* const page_cells = page->cells.get();
    if (verb == AccessVerb::read) {
      for (; at != end && at->offset < bound; ++at) {
        Cell& cell = page_cells[(at->offset - first) / 4];
        if (!quick.read(cell, at->lanes)) look_closer(cell, *at);
      }
    } else {
      for (; at != end && at->offset < bound; ++at) {
        Cell& cell = page_cells[(at->offset - first) / 4];
        if (!quick.write(cell, at->lanes)) look_closer(cell, *at);
      }
    }
    const auto low = static_cast<std::uint32_t>(in_page);
    page->touch(low, static_cast<std::uint32_t>((at - 1)->offset - from->offset) + 4);
  }
}

template <class Shadow>
void RaceChecker::access(const emulator::Access& access, const LaneCells& cells, Shadow& shadow) {
  const std::uint64_t base = base_address(access);
  const AccessVerb verb = verb_of(access.kind);
  Now now{access, access.instruction, access.warp, 0, 0, 4, access.space, strength_of(access)};
  if (cells.unit == 4 && now.strength == Strength::plain && verb != AccessVerb::atomic &&
      order_.is_simple(access.warp)) {
    return access_words(now, cells, base, verb, shadow);
  }
  for (const TouchedCell& touched : cells.cells) {
    now.address = base + static_cast<std::uint64_t>(touched.offset);
    now.lanes = touched.lanes;
    ShadowPage* page = shadow.page(now.address);
    if (page == nullptr) continue;
    const auto offset = static_cast<std::uint32_t>(now.address % ShadowPage::kBytes);
    page->touch(offset, cells.unit);
    if (cells.unit == 1 && !page->by_bytes) page->split();
    if (!page->by_bytes) {
      now.bytes = 4;
      touch(page->cells[offset / 4], now, verb);
    } else {
      now.bytes = 1;
      for (std::uint32_t i = 0; i < cells.unit; ++i) {
        touch(page->cells[offset + i], now, verb);
        ++now.address;
      }
    }
  }
}
template void RaceChecker::access(const emulator::Access&, const LaneCells&, SharedShadow&);
template void RaceChecker::access(const emulator::Access&, const LaneCells&, GlobalShadow&);

void RaceChecker::finish_copy(std::uint64_t address, std::uint32_t bytes, std::uint32_t warp,
                              int lane, SharedShadow& shadow) {
  const std::uint32_t copier = AccessTag::of(0, warp, lane, Strength::pending).thread_bits();
  for (std::uint64_t at = address; at < address + bytes;) {
    ShadowPage* page = shadow.page(at);
    const std::uint64_t end = std::min(address + bytes, page->base + ShadowPage::kBytes);
    for (; at < end; at += page->by_bytes ? 1 : 4 - at % 4) {
      Event& write = page->cells[(at - page->base) / (page->by_bytes ? 1 : 4)].write;
      if (write.tag.thread_bits() != copier) continue;
      write = {order_.time(), AccessTag::of(write.tag.instruction(), warp, lane, Strength::plain)};
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

void RaceChecker::touch(Cell& cell, const Now& now, AccessVerb verb) {
  switch (verb) {
    case AccessVerb::read:
      return read(cell, now);
    case AccessVerb::write:
      return write(cell, now);
    case AccessVerb::atomic:
      return atomic(cell, now);
  }
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
