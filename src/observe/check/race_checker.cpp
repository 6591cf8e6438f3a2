#include "observe/check/race_checker.hpp"

#include <algorithm>
#include <bit>

namespace tilescope::observe {
namespace {

using emulator::AccessKind;
using emulator::LaneMask;

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
void RaceChecker::access(const emulator::Access& access, const LaneCells& cells, Shadow& shadow) {
  const std::uint64_t base = base_address(access);
  const AccessVerb verb = verb_of(access.kind);
  Now now{&access, access.instruction, access.warp, 0, 0, 4, access.space, strength_of(access)};
  if (now.strength == Strength::plain && verb != AccessVerb::atomic &&
      order_.is_simple(access.warp)) {
    return access_simply(now, cells, base, verb, shadow);
  }
  const std::uint32_t changed = verb == AccessVerb::read            ? 0
                                : now.strength == Strength::pending ? kNeverOrdered
                                                                    : order_.time();
  ShadowPage* page = nullptr;
  std::uint64_t number = ~std::uint64_t{0};  // of the page
  for (const TouchedCell& touched : cells.cells) {
    now.address = base + static_cast<std::uint64_t>(touched.offset);
    now.lanes = touched.lanes;
    if (now.address / ShadowPage::kBytes != number) {
      number = now.address / ShadowPage::kBytes;
      page = open(now.address, changed, shadow);
    }
    if (page == nullptr) continue;
    const auto offset = static_cast<std::uint32_t>(now.address % ShadowPage::kBytes);
    page->touch(offset, cells.unit);
    if (cells.unit == 1 && !page->by_bytes) page->split();
    page->use_cells();
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
      &access, access.instruction, access.warp,        emulator::LaneMask{1} << lane, address,
      1,       access.space,       strength_of(access)};
  report(copy, AccessVerb::read, now, verb_of(access.kind), lane, RaceRelation::copy_source);
}

void RaceChecker::touch(ShadowPage& page, std::uint32_t number, const Now& now, AccessVerb verb) {
  CellRecords& records = page.cells;
  if (const Event last = records.write(number); last.time >= order_.epoch()) [[unlikely]] {
    check(last, AccessVerb::write, now, verb);
  }
  switch (verb) {
    case AccessVerb::read:
      read(records, number, now);
      break;
    case AccessVerb::write:
      write(records, number, now);
      break;
    case AccessVerb::atomic:
      check_readers(records, number, now, verb);
      records.set_atomic(number,
                         {order_.time(), AccessTag::of(now.instruction, now.warp,
                                                       std::countr_zero(now.lanes), now.strength)});
      break;
  }
}

void RaceChecker::check_atomic(const CellRecords& records, std::uint32_t number, const Now& now,
                               AccessVerb verb) {
  if (const Event last = records.atomic(number); last.time >= order_.epoch()) [[unlikely]] {
    check(last, AccessVerb::atomic, now, verb);
  }
}

void RaceChecker::check_readers(const CellRecords& records, std::uint32_t number, const Now& now,
                                AccessVerb verb) {
  for (const Event& reader : {records.first(number), records.second(number)}) {
    if (reader.time >= order_.epoch()) [[unlikely]]
      check(reader, AccessVerb::read, now, verb);
  }
}

void RaceChecker::read(CellRecords& records, std::uint32_t number, const Now& now) {
  check_atomic(records, number, now, AccessVerb::read);
  // The first two lanes represent all of them.
  const LaneMask rest = now.lanes & (now.lanes - 1);
  const auto reader = [&](LaneMask lanes) {
    return Event{order_.time(),
                 AccessTag::of(now.instruction, now.warp, std::countr_zero(lanes), now.strength)};
  };
  Event readers[] = {records.first(number), records.second(number)};
  remember_reader(readers, reader(now.lanes));
  // If the warp is not among the readers now, both are of other warps that nothing orders before
  // this one: the second lane fares as the first.
  if (rest != 0 && (readers[0].tag.warp() == now.warp || readers[1].tag.warp() == now.warp)) {
    remember_reader(readers, reader(rest));
  }
  records.set_readers(number, readers);
}

void RaceChecker::remember_reader(Event (&readers)[2], const Event& reader) const {
  auto& [first, second] = readers;
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

void RaceChecker::write(CellRecords& records, std::uint32_t number, const Now& now) {
  const Event mine{
      now.strength == Strength::pending ? kNeverOrdered : order_.time(),
      AccessTag::of(now.instruction, now.warp, std::countr_zero(now.lanes), now.strength)};
  const LaneMask rest = now.lanes & (now.lanes - 1);
  if (rest != 0 && now.strength != Strength::atomic &&
      !values_.equal(now.instruction, now.instruction, true)) {
    report(mine, AccessVerb::write, now, AccessVerb::write, std::countr_zero(rest),
           RaceRelation::same_instruction);
  }
  check_atomic(records, number, now, AccessVerb::write);
  check_readers(records, number, now, AccessVerb::write);
  records.set_write(number, mine);
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
    return emulator::stored_bits(*now.access, of, now.address, now.bytes);
  };
  if (relation != RaceRelation::same_instruction) {
    return bits(lane) == emulator::present_bits(*now.access, now.address, now.bytes);
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
