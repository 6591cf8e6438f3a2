#include "observe/check/grid_order.hpp"

#include <bit>

#include "observe/check/race_checker.hpp"

namespace tilescope::observe {
namespace {

bool both_strong(AccessTag a, AccessTag b) {
  return a.strength() != Strength::plain && b.strength() != Strength::plain;
}

}  // namespace

void GridOrder::release(std::uint64_t block, std::uint64_t variable, const WarpTimes* published) {
  const auto learned = learned_.find(block);
  if (published == nullptr && learned == learned_.end()) return;
  Variable& v = variables_[variable];
  ++v.version;
  if (published != nullptr) {
    Publication(&last)[2] = v.by_block[block];
    last[1] = last[0];
    last[0] = {v.version, *published};
  }
  if (learned == learned_.end()) return;
  for (const auto& [other, version] : learned->second) {
    std::uint64_t& known = v.others[other];
    known = std::max(known, version);
  }
}

void GridOrder::acquire(std::uint64_t block, std::uint64_t variable) {
  const auto found = variables_.find(variable);
  if (found == variables_.end()) return;
  auto& learned = learned_[block];
  learned[variable] = found->second.version;
  for (const auto& [other, version] : found->second.others) {
    std::uint64_t& known = learned[other];
    known = std::max(known, version);
  }
}

bool GridOrder::known(std::uint64_t block, const Touch& earlier) const {
  const auto learned = learned_.find(block);
  if (learned == learned_.end()) return false;
  for (const auto& [variable, version] : learned->second) {
    const auto v = variables_.find(variable);
    const auto by = v->second.by_block.find(earlier.block);
    if (by == v->second.by_block.end()) continue;
    for (const Publication& publication : by->second) {
      if (publication.version != 0 && publication.version <= version &&
          earlier.event.time < publication.times[earlier.event.tag.warp()]) {
        return true;
      }
    }
  }
  return false;
}

GridOrder::Page* GridOrder::page(std::uint64_t address) {
  const auto [found, fresh] = pages_.try_emplace(address / ShadowPage::kBytes);
  Page& page = found->second;
  if (fresh) {
    if (pages_.size() > kMostPages) {
      pages_.erase(found);
      overflowed_ = true;
      return nullptr;
    }
    page.cells = std::make_unique<GridCell[]>(ShadowPage::kBytes / 4);
  }
  return &page;
}

void GridOrder::check(std::uint64_t block, const Touch& earlier, AccessVerb earlier_verb,
                      AccessTag tag, AccessVerb verb, emulator::Space space,
                      std::uint64_t address) {
  if (earlier.event.time == 0 || earlier.block == block) return;
  if (both_strong(earlier.event.tag, tag) || known(block, earlier)) return;
  if (earlier_verb == AccessVerb::write && verb == AccessVerb::write &&
      values_.equal(earlier.event.tag.instruction(), tag.instruction(), false)) {
    return;
  }
  const RaceKey key{earlier.event.tag.instruction(),
                    tag.instruction(),
                    earlier_verb,
                    verb,
                    RaceRelation::two_blocks,
                    space};
  log_.add(key, {1, earlier.block, block, earlier.event.tag, tag, address});
}

void GridOrder::access(std::uint64_t block, std::uint32_t time, const emulator::Access& access,
                       const LaneCells& cells) {
  const std::uint64_t base = base_address(access);
  const AccessVerb verb = verb_of(access.kind);
  const Strength strength = strength_of(access);
  for (const TouchedCell& touched : cells.cells) {
    std::uint64_t address = base + static_cast<std::uint64_t>(touched.offset);
    Page* const of = page(address);
    if (of == nullptr) continue;
    if (cells.unit == 1 && !of->by_bytes) {
      auto bytes = std::make_unique<GridCell[]>(ShadowPage::kBytes);
      for (std::uint32_t i = 0; i < ShadowPage::kBytes; ++i) bytes[i] = of->cells[i / 4];
      of->cells = std::move(bytes);
      of->by_bytes = true;
    }
    const Touch mine{block,
                     {time, AccessTag::of(access.instruction, access.warp,
                                          std::countr_zero(touched.lanes), strength)}};
    const std::uint64_t offset = address % ShadowPage::kBytes;
    const std::uint32_t count = of->by_bytes ? cells.unit : 1;
    for (std::uint32_t i = 0; i < count; ++i, ++address) {
      GridCell& cell = of->cells[of->by_bytes ? offset + i : offset / 4];
      const auto against = [&](const Touch& earlier, AccessVerb earlier_verb) {
        check(block, earlier, earlier_verb, mine.event.tag, verb, access.space, address);
      };
      against(cell.write, AccessVerb::write);
      if (verb != AccessVerb::atomic) against(cell.atomic, AccessVerb::atomic);
      if (verb != AccessVerb::read) {
        against(cell.reader[0], AccessVerb::read);
        against(cell.reader[1], AccessVerb::read);
        (verb == AccessVerb::write ? cell.write : cell.atomic) = mine;
      } else if (cell.reader[0].event.time == 0 || cell.reader[0].block == block ||
                 known(block, cell.reader[0])) {
        cell.reader[0] = mine;
      } else {
        cell.reader[1] = mine;
      }
    }
  }
}

bool orders_blocks(const emulator::Program& program) {
  for (const emulator::InstructionInfo& info : program.instructions()) {
    if (info.source == nullptr) continue;
    const ptx::Modifiers& m = info.source->modifiers;
    const bool fence = ptx::info(info.source->opcode).effect == ptx::Effect::fence;
    if (fence && m.scope != ptx::Scope::cta) return true;
    const bool release = m.ordering == ptx::Ordering::release ||
                         m.ordering == ptx::Ordering::acq_rel || m.ordering == ptx::Ordering::sc;
    if (!fence && release && m.space != ptx::Space::shared && m.scope != ptx::Scope::cta) {
      return true;
    }
  }
  return false;
}

}  // namespace tilescope::observe
