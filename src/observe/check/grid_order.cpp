#include "observe/check/grid_order.hpp"

#include <algorithm>
#include <bit>

#include "observe/check/race_checker.hpp"

namespace tilescope::observe {

void GridOrder::set_flag(std::uint64_t block, std::uint64_t variable, const WarpTimes& passed) {
  Variable& v = variables_[variable];
  const auto [found, fresh] = v.passed.try_emplace(block);
  if (fresh && ++flags_ > kMostFlags) {
    v.passed.erase(found);
    overflowed_ = true;
    return;
  }
  Publication(&last)[2] = found->second;
  last[1] = last[0];
  last[0] = {++v.version, passed};
}

void GridOrder::release(std::uint64_t block, std::uint64_t variable, const WarpTimes* published) {
  const auto learned = learned_.find(block);
  if (published == nullptr && learned == learned_.end()) return;
  Variable& v = variables_[variable];
  ++v.version;
  if (published != nullptr) {
    Publication(&last)[2] = v.by_block[block];
    // The same again, as by lanes that try to lock, tells nothing new.
    if (last[0].version == 0 || last[0].times != *published) {
      last[1] = last[0];
      last[0] = {v.version, *published};
    }
  }
  if (learned == learned_.end()) return;
  for (const auto& [other, knowledge] : learned->second) {
    Knowledge& passed = v.others[other];
    passed.fenced = std::max(passed.fenced, knowledge.fenced);
    passed.relayed = std::max({passed.relayed, knowledge.relaxed, knowledge.relayed});
  }
}

void GridOrder::acquire(std::uint64_t block, std::uint64_t variable, bool relaxed) {
  const auto found = variables_.find(variable);
  if (found == variables_.end()) return;
  ByVariable& learned = learned_[block];
  const auto learn = [&](Knowledge& knowledge, std::uint64_t version) {
    knowledge.relaxed = std::max(knowledge.relaxed, version);
    if (!relaxed) knowledge.acquired = std::max(knowledge.acquired, version);
  };
  learn(learned[variable], found->second.version);
  for (const auto& [other, passed] : found->second.others) {
    Knowledge& knowledge = learned[other];
    learn(knowledge, passed.fenced);
    knowledge.relayed = std::max(knowledge.relayed, passed.relayed);
  }
}

void GridOrder::fence(std::uint64_t block) {
  const auto learned = learned_.find(block);
  if (learned == learned_.end()) return;
  for (auto& [variable, knowledge] : learned->second) {
    knowledge.acquired = knowledge.fenced = knowledge.relaxed;
  }
}

void GridOrder::barrier(std::uint64_t block) {
  const auto learned = learned_.find(block);
  if (learned == learned_.end()) return;
  for (auto& [variable, knowledge] : learned->second) knowledge.acquired = knowledge.relaxed;
}

std::optional<RaceRelation> GridOrder::relation(std::uint64_t block, const Touch& earlier) const {
  RaceRelation relation = RaceRelation::two_blocks;
  const auto learned = learned_.find(block);
  if (learned == learned_.end()) return relation;
  for (const auto& [variable, knowledge] : learned->second) {
    const auto v = variables_.find(variable);
    const auto by = v->second.by_block.find(earlier.block);
    if (by == v->second.by_block.end()) continue;
    for (const Publication& publication : by->second) {
      if (!publication.holds(earlier.event)) continue;
      if (publication.version <= knowledge.acquired) return std::nullopt;
      if (publication.version <= knowledge.relaxed) {
        relation = RaceRelation::relaxed_flag;
      } else if (publication.version <= knowledge.relayed && relation == RaceRelation::two_blocks) {
        relation = RaceRelation::unfenced_relay;
      }
    }
  }
  return relation;
}

bool GridOrder::follows(std::uint64_t block, const Touch& read) {
  const auto learned = learned_.find(block);
  if (learned == learned_.end()) return false;
  for (const auto& [variable, knowledge] : learned->second) {
    const Variable& v = variables_.find(variable)->second;
    const auto by = v.passed.find(read.block);
    if (by == v.passed.end()) continue;
    const std::uint64_t version =
        std::max({knowledge.acquired, knowledge.relaxed, knowledge.relayed});
    for (const Publication& publication : by->second) {
      if (publication.holds(read.event) && publication.version <= version) {
        return finished_.contains(read.event.tag.instruction());
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

bool GridOrder::written(std::uint64_t address) const {
  const auto found = pages_.find(address / ShadowPage::kBytes);
  if (found == pages_.end()) return false;
  const std::uint64_t offset = address % ShadowPage::kBytes;
  const GridCell& cell = found->second.cells[found->second.by_bytes ? offset : offset / 4];
  return cell.write.event.time != 0 || cell.atomic.event.time != 0;
}

void GridOrder::check(const Touch& earlier, AccessVerb earlier_verb, const Touch& later,
                      AccessVerb verb, emulator::Space space, std::uint64_t address) {
  const std::uint64_t block = later.block;
  const AccessTag tag = later.event.tag;
  if (earlier.event.time == 0 || earlier.block == block) return;
  const GridStrength strength = std::min(strength_of(earlier.event.tag), strength_of(tag));
  if (strength == GridStrength::atomic) return;
  const std::optional<RaceRelation> unordered = relation(block, earlier);
  if (unordered && earlier_verb == AccessVerb::read && follows(block, earlier)) return;
  if (!unordered || wild_.contains(earlier.block, earlier.event.tag.thread()) ||
      wild_.contains(block, tag.thread())) {
    return;
  }
  if (earlier_verb == AccessVerb::write && verb == AccessVerb::write &&
      values_.equal(earlier.event.tag.instruction(), tag.instruction(), false)) {
    return;
  }
  const bool both_write = earlier_verb != AccessVerb::read && verb != AccessVerb::read;
  const RaceKey key{earlier.event.tag.instruction(),
                    tag.instruction(),
                    earlier_verb,
                    verb,
                    *unordered,
                    space,
                    !both_write && (earlier.same_bits || later.same_bits)};
  const RaceExample example{1, earlier.block, block, earlier.event.tag, tag, address};
  if (strength == GridStrength::plain) {
    log_.add(key, example);
  } else {
    volatile_.add(key, example);
  }
}

GridOrder::GridStrength GridOrder::strength_of(AccessTag tag) const {
  switch (tag.strength()) {
    case Strength::volatile_:
      return GridStrength::volatile_;
    case Strength::atomic:
      return roles_[tag.instruction()].block_scope ? GridStrength::plain : GridStrength::atomic;
    default:
      return GridStrength::plain;
  }
}

void GridOrder::access(std::uint64_t block, std::uint32_t time, const emulator::Access& access,
                       const LaneCells& cells, const FlagWords& flags) {
  const std::uint64_t base = base_address(access);
  const AccessVerb verb = verb_of(access.kind);
  const Strength strength = observe::strength_of(access);
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
    const int lane = std::countr_zero(touched.lanes);
    Touch mine{block, {time, AccessTag::of(access.instruction, access.warp, lane, strength)}};
    const std::uint64_t offset = address % ShadowPage::kBytes;
    const std::uint32_t count = of->by_bytes ? cells.unit : 1;
    for (std::uint32_t i = 0; i < count; ++i, ++address) {
      GridCell& cell = of->cells[of->by_bytes ? offset + i : offset / 4];
      if (roles_[access.instruction].stores) {
        const std::uint32_t bytes = of->by_bytes ? 1 : 4;
        mine.same_bits =
            cell.read_by(block) && emulator::stored_bits(access, lane, address, bytes) ==
                                       emulator::present_bits(access, address, bytes);
      }
      const bool flag =
          strength != Strength::plain && flags.use(access.space, address) == FlagWords::Use::waits;
      const auto against = [&](const Touch& earlier, AccessVerb earlier_verb) {
        if (flag && strength_of(earlier.event.tag) != GridStrength::plain) return;
        check(earlier, earlier_verb, mine, verb, access.space, address);
      };
      against(cell.write, AccessVerb::write);
      against(cell.atomic, AccessVerb::atomic);
      if (verb != AccessVerb::read) {
        against(cell.reader[0], AccessVerb::read);
        against(cell.reader[1], AccessVerb::read);
        (verb == AccessVerb::write ? cell.write : cell.atomic) = mine;
      } else if (cell.reader[0].event.time == 0 || cell.reader[0].block == block ||
                 !relation(block, cell.reader[0])) {
        cell.reader[0] = mine;
      } else {
        cell.reader[1] = mine;
      }
    }
  }
}

bool polls_flags(const emulator::Program& program, const std::vector<AccessRole>& roles) {
  for (std::uint32_t id = 0; id < roles.size(); ++id) {
    const ptx::Instruction& instruction = *program.instruction(id).source;
    if (roles[id].waits && !roles[id].block_scope &&
        ptx::info(instruction.opcode).effect == ptx::Effect::load &&
        instruction.modifiers.space != ptx::Space::shared) {
      return true;
    }
  }
  return false;
}

bool orders_blocks(const emulator::Program& program) {
  for (const emulator::InstructionInfo& info : program.instructions()) {
    if (info.source == nullptr) continue;
    const ptx::Modifiers& m = info.source->modifiers;
    const ptx::OpcodeInfo& facts = ptx::info(info.source->opcode);
    if (facts.end == ptx::BlockEnd::cluster_barrier) return true;
    if (facts.releases && m.space == ptx::Space::shared_cluster) return true;
    if (m.has(ptx::Flag::proxy) || m.has(ptx::Flag::mbarrier_init)) continue;
    const bool fence = facts.effect == ptx::Effect::fence;
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
