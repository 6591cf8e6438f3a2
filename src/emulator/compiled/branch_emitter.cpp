// The ways from block to block of a region: branches of all lanes, parts that some of them run, and
// turns that end.
#include <algorithm>
#include <cstddef>

#include "emulator/compiled/region_emitter.hpp"
#include "emulator/compiled/runtime_calls.hpp"
#include "emulator/compiled/vector_cache.hpp"

namespace tilescope::emulator::compiled {

/// The warp's turn ends behind a round of a loop that may wait for others. What is assumed of
/// registers at the head is in the frame when the code is entered.
void RegionEmitter::spin(const Passage& way) {
  settle(way.to == region_.head ? way.stale : way.unknown_inside);
  keep(way.only_here);
  pause({ExitKind::spins, way.to, 0}, way.to, way.stale);
}

/// The facts that hold at the begin of the block that the code goes to.
const std::map<std::uint32_t, KnownFacts>& RegionEmitter::facts_at(std::uint32_t block) const {
  return masked_ != nullptr && block != masked_->part.join ? masked_->at_begin : region_.at_begin;
}

/// Whether the facts at the begin of the block hold here too.
bool RegionEmitter::knows_all_of(std::uint32_t block) const {
  const auto& entries = facts_at(block).at(block).entries;
  return std::all_of(entries.begin(), entries.end(), [&](const KnownFacts::Entry& entry) {
    const RegisterFact &wanted = entry.fact, &here = facts_[entry.reg];
    return here.shape == wanted.shape && here.zeros >= wanted.zeros &&
           (!wanted.known || (here.known && here.value == wanted.value));
  });
}

/// rax: the predicate. In parts, as strips have stored it: the CPU hands a load only what one store
/// has written.
void RegionEmitter::load_predicate(std::uint32_t offset) {
  const int bytes = strip_lanes(a_) / 8;
  const auto part = [&](Gpr to, std::int64_t at_byte) {
    a_.load_narrow(to, at(kFrame, offset + at_byte), static_cast<unsigned>(bytes), false);
  };
  part(rax, 4 - bytes);
  for (int at_byte = 4 - 2 * bytes; at_byte >= 0; at_byte -= bytes) {
    a_.shift_left(rax, static_cast<std::uint8_t>(bytes * 8), 4);
    part(rcx, at_byte);
    a_.bit_or(rax, rcx, 4);
  }
}

/// rax: the lanes whose guard holds, of all.
void RegionEmitter::load_guard(const Code& code) {
  const std::uint32_t guard = plan_.registers().find(code.guard);
  if (const std::optional<std::uint64_t> known = rules_.number(facts_, guard)) {
    a_.mov_constant(rax, *known & 0xffffffffu);
  } else if (facts_[guard].shape != kNoShape) {
    a_.mov(rax, slot_place(a_, static_cast<int>(guard)), 4);
  } else {
    load_predicate(code.guard);
  }
  if (code.guard_flip != 0) a_.complement(rax, 4);
}

/// All lanes take the branch.
void RegionEmitter::count_all_on(const Code& code) {
  a_.mov(rcx, at(kState, offsetof(CompiledState, lanes_on)), 8);
  a_.add_to(at(rcx, std::int64_t{code.id} * 8), 32);
}

/// The branch of a block that is known to be taken by these lanes.
void RegionEmitter::branch_of(std::uint32_t b, LaneMask takers, const RegisterSet& live) {
  const CodeBlock& block = plan_.blocks()[b];
  if (takers != 0 && takers != kAllLanes) {
    a_.mov_constant(rax, takers);
    return diverge(b, takers, facts_.stale(live));
  }
  const bool taken = takers != 0;
  if (taken) {
    const Code& code = plan_.function().code[block.body_end];
    const std::size_t begin = a_.size();
    count_all_on(code);
    ways_.add_branch(b, code.id, begin, a_.size());
  }
  after_branch_ = taken;
  go(b, passage(taken ? block.target : block.next), taken);
  after_branch_ = false;
}

/// The part that some lanes run behind the branch of the block; null: code is left where they part.
/// Lanes that have parted already may do so once more, but for a part inside the part.
const MaskedPart* RegionEmitter::part_behind(std::uint32_t b) const {
  const auto found = region_.masked_parts.find(b);
  if (found == region_.masked_parts.end()) return nullptr;
  const MaskedPart& part = found->second;
  if (masked_ == nullptr) return &part;
  const std::vector<std::uint32_t>& outer = masked_->part.blocks;
  const auto is_inside = [&](std::uint32_t block) {
    return std::binary_search(outer.begin(), outer.end(), block);
  };
  if (masked_->outer != nullptr || part.loop || part.is_copy || part.ends ||
      (part.join != masked_->part.join && !is_inside(part.join)) ||
      !std::all_of(part.blocks.begin(), part.blocks.end(), is_inside)) {
    return nullptr;
  }
  return &part;
}

/// rax: the lanes that take the branch of the block, of those that run, neither all nor none;
/// `takers`: the same where they are known. `stale`: before it.
void RegionEmitter::diverge(std::uint32_t b, std::optional<LaneMask> takers, const Numbers& stale) {
  const Label interpreted = a_.label();
  if (const MaskedPart* const part = part_behind(b)) {
    // Nobody has a turn before the lanes meet again.
    a_.compare_constant(kTurn, part->instructions, 8);
    a_.jump(Condition::less, interpreted);
    masked_part(*part, takers);
  }
  a_.bind(interpreted);
  exit({ExitKind::inside, b, plan_.blocks()[b].body_end}, stale);
}

void RegionEmitter::branch(std::uint32_t b, const RegisterSet& live) {
  const CodeBlock& block = plan_.blocks()[b];
  const Code& code = plan_.function().code[block.body_end];
  if (code.guard == kNone) return go(b, passage(block.target), true);
  if (const std::optional<LaneMask> takers = known_takers(plan_, rules_, facts_, b)) {
    return branch_of(b, *takers, live);
  }
  const std::uint32_t guard = plan_.registers().find(code.guard);
  const Label taken = a_.label();
  const bool uniform = facts_[guard].shape == kUniform;
  const bool spins_inside = block.spin && region_.at_begin.contains(block.target) &&
                            (block.target != region_.head || knows_all_of(region_.head));
  load_guard(code);
  if (uniform && !block.spin) {
    a_.test(rax, rax, 4);
    a_.jump(Condition::not_equal, taken);
  } else {
    if (!block.spin || spins_inside) {  // else the interpreter takes the branch
      a_.compare_constant(rax, -1, 4);
      a_.jump(Condition::equal, taken);
    }
    const Label divergent = a_.label();
    a_.test(rax, rax, 4);
    a_.jump(Condition::not_equal, divergent);
    later([this, divergent, b, facts = facts_.known(live), stale = facts_.stale(live)] {
      a_.bind(divergent);
      facts_.assign(facts);
      diverge(b, std::nullopt, stale);
    });
  }
  if (block.spin && !spins_inside) return go(b, passage(block.next), false);
  later([this, taken, b, to = passage(block.target), &block, &code] {
    a_.bind(taken);
    count_all_on(code);
    if (block.spin) return spin(to);
    go(b, to, true);
  });
  go(b, passage(block.next), false);
}

RegionEmitter::Passage RegionEmitter::passage(std::uint32_t to) const {
  Passage result{to, facts_.stale(plan_.live_at_begin(to)), {}, {}};
  result.inside = facts_at(to).contains(to) && knows_all_of(to);
  if (!result.inside) return result;
  const std::vector<KnownFacts::Entry>& known = facts_at(to).at(to).entries;
  for (const KnownFacts::Entry& entry : known) {
    const RegisterFact& here = facts_[entry.reg];
    if (here.known && !entry.fact.known) result.only_here.push_back(kept_number(entry.reg, here));
  }
  auto place = known.begin();
  for (const KeptNumber& number : result.stale) {
    while (place != known.end() && place->reg < number.reg) ++place;
    if (place == known.end() || place->reg != number.reg) result.unknown_inside.push_back(number);
  }
  return result;
}

void RegionEmitter::go(std::uint32_t from, const Passage& way, bool taken) {
  if (taken && plan_.blocks()[from].backward) {
    if (behind_blocks_) ways_.stops(current_);  // most go back
    const Label goes_on = a_.label();
    a_.test(kTurn, kTurn, 8);
    a_.jump(Condition::greater_equal, goes_on);
    exit({ExitKind::yield, way.to, 0}, way.stale);
    a_.bind(goes_on);
  }
  if (!way.inside) {
    exit({ExitKind::block, way.to, 0}, way.stale);
    return;
  }
  settle(way.unknown_inside);
  keep(way.only_here);
  WayBuilder::Edge edge{current_, way.to, after_branch_};
  if (behind_blocks_) edge.side = a_.label();
  ways_.add_edge(edge);
  a_.jump(edge.side.value_or(blocks_.at(way.to)));
}

/// Lanes part at the end of the block. The rest of it is made again, with comparisons lane by lane,
/// if its branch has a masked part.
void RegionEmitter::parted(std::uint32_t b, std::uint32_t from, const KnownFacts& before,
                           const Numbers& stale) {
  if (part_behind(b) == nullptr) return exit({ExitKind::inside, b, from}, stale);
  facts_.assign(before);
  rules_.let_part(true);
  body(b, from);
  if (masked_ != nullptr) {
    end_masked_block(b);
  } else {
    branch(b, plan_.live_in_block(b).back());
  }
  rules_.let_part(false);
}

}  // namespace tilescope::emulator::compiled
