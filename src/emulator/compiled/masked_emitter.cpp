// Parts that only some lanes of a warp run (masked_part.hpp), and parts inside these that fewer do.
#include <cstddef>

#include "emulator/compiled/masked_facts.hpp"
#include "emulator/compiled/region_emitter.hpp"
#include "emulator/compiled/runtime_calls.hpp"

namespace tilescope::emulator::compiled {
namespace {

Place of_state(std::size_t offset) {
  return at(kState, static_cast<std::int64_t>(offset));
}
Place running() {
  return of_state(offsetof(CompiledState, mask));
}
/// Those that take the branch; `depth`: 1 where lanes have parted before.
Place taken_lanes(std::size_t depth) {
  return of_state(offsetof(CompiledState, taken) + depth * sizeof(LaneMask));
}

}  // namespace

/// rax: the lanes that take the branch before the part, of those that run. Some begin the part.
void RegionEmitter::part_lanes(const MaskedPart& part) {
  const CodeBlock& block = plan_.blocks()[part.branch];
  const Code& code = plan_.function().code[block.body_end];
  const bool again = masked_ != nullptr;
  const Place taken = taken_lanes(again ? 1 : 0);
  a_.store(taken, rax, 4);
  count_on(code);
  settle_before(part);
  a_.mov(rax, taken, 4);
  if (!part.if_taken) a_.complement(rax, 4);
  if (again) {
    a_.mov(rdx, running(), 4);
    a_.store(of_state(offsetof(CompiledState, outer_mask)), rdx, 8);
    a_.bit_and(rax, rdx, 4);
  } else {
    a_.mov_constant(rdx, kAllLanes);
  }
  a_.store(running(), rax, 8);
  announce_parting_of(code, taken);
}

/// Registers that the part writes are in the frame before, where lanes that do not run it, or the
/// part itself, read them. So are those that the present part keeps for other lanes: from here on
/// not all that run it write there.
void RegionEmitter::settle_before(const MaskedPart& part) {
  const RegisterSet& read = plan_.live_at_begin(part.blocks.front());
  Numbers before;
  for (const KeptNumber& number : facts_.stale(part.written)) {
    const bool is_read = part.kept.has(number.reg) || read.has(number.reg);
    if (is_read && !is_kept(number.reg)) before.push_back(number);
  }
  if (masked_ != nullptr) {
    for (const KeptNumber& number : facts_.stale(masked_->part.kept)) before.push_back(number);
  }
  settle(before);
  for (const KeptNumber& number : before) {
    RegisterFact fact = facts_[number.reg];
    fact.stale = false;
    facts_.set(number.reg, fact);
  }
}

/// rax: the lanes that take the branch. Keeps it.
void RegionEmitter::count_on(const Code& code) {
  a_.count_ones(rcx, rax, 4);
  a_.mov(rdx, of_state(offsetof(CompiledState, lanes_on)), 8);
  a_.add_to(at(rdx, std::int64_t{code.id} * 8), rcx, 8);
}

/// Tells observers that of the lanes rdx those that are `taken` take the branch.
void RegionEmitter::announce_parting_of(const Code& code, Place taken) {
  const Label unwatched = a_.label();
  a_.mov(rcx, of_state(offsetof(CompiledState, context)), 8);
  a_.mov(rax, at(rcx, offsetof(Context, events)), 4);
  a_.and_constant(rax, kDivergence, 4);
  a_.jump(Condition::equal, unwatched);
  a_.mov_constant(rsi, reinterpret_cast<std::uint64_t>(&code));
  a_.mov(rcx, taken, 4);
  emit_call(a_, &announce_parting);
  a_.bind(unwatched);
}

RegionEmitter::MaskedCode& RegionEmitter::new_masked(const MaskedPart& part,
                                                     std::optional<LaneMask> takers) {
  MaskedCode& code = masked_parts_.emplace_back(MaskedCode{part});
  code.outer = masked_;
  if (takers) code.lanes = part.if_taken ? *takers : ~*takers;
  if (masked_ != nullptr) {
    code.lanes &= masked_->lanes;
    part.written.for_each_in_both(masked_->part.kept,
                                  [&](std::uint32_t reg) { code.part.kept.insert(reg); });
  }
  for (const std::uint32_t b : part.blocks) code.labels.emplace(b, a_.label());
  return code;
}

/// rax: the lanes that take the branch before the part. facts_: those there. Registers that the
/// part writes have no shape behind it, and their other lanes stay what they are in the frame.
/// Where the join relies on their shape, because it mostly is there, the interpreter goes on.
void RegionEmitter::masked_part(const MaskedPart& part, std::optional<LaneMask> takers) {
  part_lanes(part);
  MaskedCode& code = new_masked(part, takers);
  begin_masked(&code);
  code.at_begin = facts_inside(plan_, rules_, code.part, code.lanes, facts_);
  for (const std::uint32_t b : part.blocks) {
    const auto known = code.at_begin.find(b);
    if (known == code.at_begin.end()) continue;
    a_.bind(code.labels.at(b));
    facts_.assign(known->second);
    begin_block(plan_.blocks()[b]);
    body(b, plan_.blocks()[b].begin);
    end_masked_block(b);
  }
  begin_masked(code.outer);
}

void RegionEmitter::end_masked_block(std::uint32_t b) {
  const CodeBlock& block = plan_.blocks()[b];
  const MaskedPart& part = masked_->part;
  if (block.end != BlockEnd::branch) return go_masked(block.next);
  const Code& code = plan_.function().code[block.body_end];
  if (code.guard == kNone) return go_masked(block.target);
  const std::optional<LaneMask> takers = takers_inside(plan_, rules_, facts_, b, masked_->lanes);
  const bool goes_round = part.loop && b == part.branch;
  if (takers == 0 && !goes_round) return go_masked(block.next);
  if (goes_round) settle_before(part);  // fewer lanes write the frame from here on
  load_guard(code);
  a_.mov(rcx, running(), 4);
  a_.bit_and(rax, rcx, 4);
  if (!goes_round) return masked_branch(b, takers);
  facts_.forget(part.written);
  next_masked_round();
}

/// rax: the lanes that take the branch, rcx: those that run. `takers`: the former, if known.
void RegionEmitter::masked_branch(std::uint32_t b, std::optional<LaneMask> takers) {
  const CodeBlock& block = plan_.blocks()[b];
  const Code& code = plan_.function().code[block.body_end];
  const RegisterSet live = plan_.live_in_block(b).back();
  const Label some = a_.label(), all = a_.label();
  const bool leads_back = masked_->part.is_copy && b == masked_->part.blocks.back();
  if (!takers || leads_back) {
    if (!leads_back) {
      a_.compare(rax, rcx, 4);
      a_.jump(Condition::equal, all);
    }
    a_.test(rax, rax, 4);
    a_.jump(Condition::not_equal, some);
    go_masked(block.next);
    later([this, some, b, leads_back, part = masked_, facts = facts_.known(live),
           stale = facts_.stale(live)] {
      a_.bind(some);
      begin_masked(part);
      facts_.assign(facts);
      if (leads_back) {
        exit({ExitKind::inside, b, plan_.blocks()[b].body_end}, stale);
      } else {
        diverge(b, std::nullopt, stale);
      }
      begin_masked(nullptr);
    });
    if (leads_back) return;
    a_.bind(all);
  }
  count_on(code);
  go_masked(block.target);
}

/// rax: the lanes that go round the loop again, rcx: those that run.
void RegionEmitter::next_masked_round() {
  const MaskedPart& part = masked_->part;
  const CodeBlock& block = plan_.blocks()[part.branch];
  const Code& code = plan_.function().code[block.body_end];
  const Label done = a_.label(), together = a_.label();
  a_.test(rax, rax, 4);
  a_.jump(Condition::equal, done);
  a_.store(taken_lanes(0), rax, 4);
  a_.store(running(), rax, 8);
  a_.mov(rsi, rcx, 4);
  count_on(code);
  a_.compare(rax, rsi, 4);
  a_.jump(Condition::equal, together);
  a_.mov(rdx, rsi, 4);
  announce_parting_of(code, taken_lanes(0));
  a_.bind(together);
  a_.test(kTurn, kTurn, 8);
  a_.jump(Condition::greater_equal, masked_->labels.at(part.blocks.front()));
  exit({ExitKind::yield, block.target}, facts_.stale(plan_.live_at_begin(block.target)));
  a_.bind(done);
  go_masked(part.join);
}

/// All lanes that run go to the block, of the part or behind it.
void RegionEmitter::go_masked(std::uint32_t to) {
  if (to == masked_->part.join) return masked_->part.ends ? end_of_kernel() : end_of_part();
  const Passage way = passage(to);
  if (!way.inside) return exit({ExitKind::block, to}, way.stale);
  settle(way.unknown_inside);
  keep(way.only_here);
  a_.jump(masked_->labels.at(to));
}

/// The lanes that run meet the others.
void RegionEmitter::end_of_part() {
  const MaskedCode* const code = masked_;
  const MaskedPart& part = code->part;
  const Facts inside = facts_;
  settle(facts_.stale(part.kept));
  facts_.forget(part.written);
  if (code->outer != nullptr) {
    begin_masked(code->outer);
    a_.mov(rax, of_state(offsetof(CompiledState, outer_mask)), 8);
    a_.store(running(), rax, 8);
    go_masked(part.join);
  } else {
    const Passage way = passage(part.join);
    if (part.loop) {
      const Label goes_on = a_.label();
      a_.test(kTurn, kTurn, 8);
      a_.jump(Condition::greater_equal, goes_on);
      begin_masked(nullptr);  // the lanes have met
      exit({ExitKind::yield, part.join}, way.stale);
      begin_masked(code);
      a_.bind(goes_on);
    }
    go(part.branch, way, false);
  }
  begin_masked(code);
  facts_ = inside;
}

/// The part ends the kernel: two paths end there, one after the other.
void RegionEmitter::end_of_kernel() {
  const MaskedPart& part = masked_->part;
  const CodeBlock& last = plan_.blocks()[part.join];
  begin_block(last);
  a_.mov(rax, running(), 4);
  a_.complement(rax, 4);
  a_.store(running(), rax, 8);
  begin_block(last);
  exit({ExitKind::ends, part.join, last.body_end}, {});
}

/// `code`: null: all lanes run again.
void RegionEmitter::begin_masked(const MaskedCode* code) {
  masked_ = code;
  if (code != nullptr) {
    rules_.begin_masked(watch_ == AccessWatch::nothing);
  } else {
    rules_.end_masked();
  }
}

}  // namespace tilescope::emulator::compiled
