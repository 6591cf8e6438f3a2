// Parts that only some lanes of a warp run (masked_part.hpp).
#include <cstddef>

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

}  // namespace

/// rax: the lanes that take the branch before the part, neither all nor none. Some begin the part.
void RegionEmitter::part_lanes(const MaskedPart& part) {
  const CodeBlock& block = plan_.blocks()[part.branch];
  const Code& code = plan_.function().code[block.body_end];
  a_.store(of_state(offsetof(CompiledState, taken)), rax, 4);
  count_on(code);
  if (!part.if_taken) a_.complement(rax, 4);
  a_.store(running(), rax, 8);
  a_.mov_constant(rdx, kAllLanes);
  announce_parting_of(code);
}

/// rax: the lanes that take the branch. Keeps it.
void RegionEmitter::count_on(const Code& code) {
  a_.count_ones(rcx, rax, 4);
  a_.mov(rdx, of_state(offsetof(CompiledState, lanes_on)), 8);
  a_.add_to(at(rdx, std::int64_t{code.id} * 8), rcx, 8);
}

/// Tells observers that CompiledState::taken of the lanes rdx take the branch.
void RegionEmitter::announce_parting_of(const Code& code) {
  const Label unwatched = a_.label();
  a_.mov(rcx, of_state(offsetof(CompiledState, context)), 8);
  a_.mov(rax, at(rcx, offsetof(Context, events)), 4);
  a_.and_constant(rax, kDivergence, 4);
  a_.jump(Condition::equal, unwatched);
  a_.mov_constant(rsi, reinterpret_cast<std::uint64_t>(&code));
  emit_call(a_, &announce_parting);
  a_.bind(unwatched);
}

/// facts_: those at the branch. Registers that the part writes have no shape behind it, and their
/// other lanes stay what they are in the frame. Where the join relies on their shape, because it
/// mostly is there, the interpreter goes on.
void RegionEmitter::masked_part(const MaskedPart& part) {
  Numbers written;
  for (const KeptNumber& number : facts_.stale(part.written)) {
    const bool is_read =
        part.kept.has(number.reg) || plan_.live_at_begin(part.blocks.front()).has(number.reg);
    if (is_read) written.push_back(number);
  }
  settle(written);
  facts_.forget(part.written);
  begin_masked(&part);
  std::map<std::uint32_t, Label> labels;
  for (const std::uint32_t b : part.blocks) labels.emplace(b, a_.label());
  for (const std::uint32_t b : part.blocks) {
    a_.bind(labels.at(b));
    begin_block(plan_.blocks()[b]);
    body(b, plan_.blocks()[b].begin);
    end_masked_block(part, b, labels);
  }
  begin_masked(nullptr);
}

/// Where several ways lead to a block of the part, it knows no shape of what the part writes.
void RegionEmitter::end_masked_block(const MaskedPart& part, std::uint32_t b,
                                     const std::map<std::uint32_t, Label>& labels) {
  const CodeBlock& block = plan_.blocks()[b];
  const RegisterSet live = plan_.live_in_block(b).back();
  if (part.has_ways) {
    Numbers written;
    for (const KeptNumber& number : facts_.stale(part.written)) {
      if (live.has(number.reg)) written.push_back(number);
    }
    settle(written);
    facts_.forget(part.written);
  }
  const bool is_guarded =
      block.end == BlockEnd::branch && plan_.function().code[block.body_end].guard != kNone;
  if (!is_guarded) {
    const std::uint32_t next = block.end == BlockEnd::branch ? block.target : block.next;
    return go_masked(part, next, labels);
  }
  const Code& code = plan_.function().code[block.body_end];
  const Label all = a_.label(), some = a_.label();
  load_guard(code);
  a_.mov(rcx, running(), 4);
  a_.bit_and(rax, rcx, 4);
  if (part.loop && b == part.branch) return next_masked_round(part, labels);
  a_.compare(rax, rcx, 4);
  a_.jump(Condition::equal, all);
  a_.test(rax, rax, 4);
  a_.jump(Condition::not_equal, some);
  go_masked(part, block.next, labels);
  a_.bind(some);
  exit({ExitKind::inside, b, block.body_end}, facts_.stale(live));
  a_.bind(all);
  count_on(code);
  go_masked(part, block.target, labels);
}

/// rax: the lanes that go round the loop again, rcx: those that run.
void RegionEmitter::next_masked_round(const MaskedPart& part,
                                      const std::map<std::uint32_t, Label>& labels) {
  const CodeBlock& block = plan_.blocks()[part.branch];
  const Code& code = plan_.function().code[block.body_end];
  const Label done = a_.label(), together = a_.label(), head = labels.at(part.blocks.front());
  a_.test(rax, rax, 4);
  a_.jump(Condition::equal, done);
  a_.store(of_state(offsetof(CompiledState, taken)), rax, 4);
  a_.store(running(), rax, 8);
  a_.mov(rsi, rcx, 4);
  count_on(code);
  a_.compare(rax, rsi, 4);
  a_.jump(Condition::equal, together);
  a_.mov(rdx, rsi, 4);
  announce_parting_of(code);
  a_.bind(together);
  a_.test(kTurn, kTurn, 8);
  a_.jump(Condition::greater_equal, head);
  exit({ExitKind::yield, block.target}, facts_.stale(plan_.live_at_begin(block.target)));
  a_.bind(done);
  go_masked(part, part.join, labels);
}

/// All lanes that run go to the block, of the part or behind it.
void RegionEmitter::go_masked(const MaskedPart& part, std::uint32_t to,
                              const std::map<std::uint32_t, Label>& labels) {
  if (to != part.join) return a_.jump(labels.at(to));
  if (part.ends) {
    // Two paths end there, one after the other.
    const CodeBlock& last = plan_.blocks()[part.join];
    begin_block(last);
    a_.mov(rax, running(), 4);
    a_.complement(rax, 4);
    a_.store(running(), rax, 8);
    begin_block(last);
    return exit({ExitKind::ends, part.join, last.body_end}, {});
  }
  const Facts inside = facts_;
  settle(facts_.stale(part.kept));
  facts_.forget(part.written);
  const Passage way = passage(part.join);
  if (part.loop) {
    const Label goes_on = a_.label();
    a_.test(kTurn, kTurn, 8);
    a_.jump(Condition::greater_equal, goes_on);
    begin_masked(nullptr);  // the lanes have met
    exit({ExitKind::yield, part.join}, way.stale);
    begin_masked(&part);
    a_.bind(goes_on);
  }
  go(part.branch, way, false);
  facts_ = inside;
}

/// `part`: null: all lanes run again.
void RegionEmitter::begin_masked(const MaskedPart* part) {
  masked_ = part;
  if (part != nullptr) {
    rules_.begin_masked(watch_ == AccessWatch::nothing);
  } else {
    rules_.end_masked();
  }
}

}  // namespace tilescope::emulator::compiled
