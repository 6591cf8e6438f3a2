// How warps that have their turns in rounds arrive at barriers, spin, and give the turn to the next
// one.
#include <algorithm>
#include <cstddef>

#include "emulator/compiled/region_emitter.hpp"
#include "emulator/compiled/vector_cache.hpp"

namespace tilescope::emulator::compiled {
namespace {

Place of_rounds(std::size_t offset) {
  return at(kState, static_cast<std::int64_t>(offsetof(CompiledState, rounds) + offset));
}

Place of_warp(Gpr warp, std::size_t offset) {
  return at(warp, static_cast<std::int64_t>(offset));
}

}  // namespace

std::optional<std::uint8_t> full_barrier(const FunctionPlan& plan, const Code& code) {
  const RegisterInfo& number = plan.registers()[plan.registers().find(code.a)];
  if (static_cast<BarrierOperation>(code.access) != BarrierOperation::sync || code.b != kNone ||
      number.bits > 15) {
    return std::nullopt;
  }
  return static_cast<std::uint8_t>(number.bits);
}

/// There is a barrier for all threads, behind which warps go on inside, and nobody follows the
/// order of events. Or warps begin and end inside, and where nobody watches so do those of the
/// next block.
bool RegionEmitter::may_have_rounds() const {
  if (watch_ == AccessWatch::each) return false;
  const auto any = [&](const auto& holds) {
    return std::any_of(region_.at_begin.begin(), region_.at_begin.end(),
                       [&](const auto& at_begin) { return holds(at_begin.first); });
  };
  const auto waits = [&](std::uint32_t b) {
    const CodeBlock& block = plan_.blocks()[b];
    return block.end == BlockEnd::barrier && continues_inside(plan_, b) &&
           region_.at_begin.contains(block.next) &&
           full_barrier(plan_, plan_.function().code[block.body_end]);
  };
  if (any(waits)) return true;
  return watch_ == AccessWatch::nothing && region_.head == 0 && is_lasting() &&
         any([&](std::uint32_t b) { return plan_.ends_warp(b); });
}

/// Where there are rounds at this barrier, as Block::arrive_whole and the end of the turn; the warp
/// goes on at `inner`, which leads to block `next`. Otherwise nothing.
void RegionEmitter::arrive(std::uint32_t number, std::uint32_t next, Label inner) {
  code_.round_barrier = number;
  const Label other = a_.label(), complete = a_.label();
  a_.compare_constant(of_rounds(offsetof(Rounds, barrier)), static_cast<std::int32_t>(number), 4);
  a_.jump(Condition::not_equal, other);
  a_.test(kTurn, kTurn, 8);
  a_.jump(Condition::less, other);
  a_.mov(rax, of_rounds(offsetof(Rounds, current)), 8);
  // Its spins become 0, too.
  static_assert(offsetof(RoundWarp, spins) == offsetof(RoundWarp, exit) + 4);
  pause_in_round(inner, 8);
  a_.mov(rdx, of_rounds(offsetof(Rounds, waiting)), 4);
  a_.bit_or(rdx, of_warp(rax, offsetof(RoundWarp, bit)), 4);
  a_.compare(rdx, of_rounds(offsetof(Rounds, live)), 4);
  a_.jump(Condition::equal, complete);
  a_.store(of_rounds(offsetof(Rounds, waiting)), rdx, 4);
  next_of_round();
  later([this, complete, next] {
    a_.bind(complete);
    a_.mov(rdx, of_rounds(offsetof(Rounds, live)), 4);
    a_.bit_and(rdx, of_warp(rax, offsetof(RoundWarp, above)), 4);
    a_.store(of_rounds(offsetof(Rounds, ready)), rdx, 4);
    a_.mov_constant(rdx, 0);
    a_.store(of_rounds(offsetof(Rounds, waiting)), rdx, 4);
    a_.add_to(of_rounds(offsetof(Rounds, completions)), 1);
    a_.jump(blocks_.at(next));
  });
  a_.bind(other);
}

/// rax: the warp. It is to go on at `inner`. `bytes`: those of the exit's number.
void RegionEmitter::pause_in_round(Label inner, unsigned bytes) {
  a_.address(rdx, inner);
  a_.store(of_warp(rax, offsetof(RoundWarp, entry)), rdx, 8);
  a_.store_constant(of_warp(rax, offsetof(RoundWarp, exit)), code_.exits.size(), bytes);
}

/// Where there are rounds, the turn ends behind a round of a loop that may wait for others.
/// Otherwise nothing.
void RegionEmitter::spin_in_round(Label inner) {
  const Label other = a_.label();
  a_.mov(rax, of_rounds(offsetof(Rounds, current)), 8);
  a_.test(rax, rax, 8);
  a_.jump(Condition::equal, other);
  pause_in_round(inner, 4);
  a_.add_to(of_warp(rax, offsetof(RoundWarp, spins)), 1, 4);
  next_of_round();
  a_.bind(other);
}

/// The turn ends. The next warp of the round goes on; where there is none the code returns 0.
void RegionEmitter::next_of_round() {
  a_.mov(rdx, of_rounds(offsetof(Rounds, longest)), 8);
  a_.subtract(rdx, kTurn, 8);
  a_.add_to(of_rounds(offsetof(Rounds, steps)), rdx, 8);
  go_to_next();
}

void RegionEmitter::go_to_next() {
  a_.mov(rcx, of_rounds(offsetof(Rounds, ready)), 4);
  a_.lowest_one(rdx, rcx, 4);
  a_.jump(Condition::equal, round_is_over_);
  go_to_lowest();
}

/// rdx: the number of the lowest warp of rcx, which has its turn now; the others will have theirs.
void RegionEmitter::go_to_lowest() {
  a_.mov(rsi, rcx, 4);
  a_.add_constant(rsi, ~std::uint64_t{0}, 4);
  a_.bit_and(rcx, rsi, 4);
  a_.store(of_rounds(offsetof(Rounds, ready)), rcx, 4);
  a_.shift_left(rdx, kRoundWarpShift, 8);
  a_.add(rdx, of_rounds(offsetof(Rounds, warps)), 8);
  a_.store(of_rounds(offsetof(Rounds, current)), rdx, 8);
  a_.mov(kFrame, of_warp(rdx, offsetof(RoundWarp, frame)), 8);
  a_.store(at(kState, offsetof(CompiledState, frame)), kFrame, 8);
  a_.mov(kSlots, of_warp(rdx, offsetof(RoundWarp, slots)), 8);
  a_.store(at(kState, offsetof(CompiledState, slots)), kSlots, 8);
  a_.mov(kTurn, of_rounds(offsetof(Rounds, longest)), 8);
  if (watch_ == AccessWatch::sums) {
    a_.mov(rcx, of_warp(rdx, offsetof(RoundWarp, place)), 8);
    a_.store(at(kState, offsetof(CompiledState, place)), rcx, 8);
  }
  a_.jump_to(of_warp(rdx, offsetof(RoundWarp, entry)));
}

/// Begins a round.
void RegionEmitter::enter_rounds() {
  a_.bind(rounds_);
  begin();
  go_to_next();
  end_round();
}

/// All that can run have had their turn. A further round begins where the block would let one
/// begin, as something has happened in this one; otherwise the code returns 0.
void RegionEmitter::end_round() {
  const Label over = a_.label();
  a_.bind(round_is_over_);
  a_.mov(rcx, of_rounds(offsetof(Rounds, waiting)), 4);
  a_.complement(rcx, 4);
  a_.bit_and(rcx, of_rounds(offsetof(Rounds, live)), 4);
  a_.lowest_one(rdx, rcx, 4);
  a_.jump(Condition::equal, over);
  a_.mov(rsi, of_rounds(offsetof(Rounds, completions)), 8);
  a_.compare(rsi, of_rounds(offsetof(Rounds, first_completions)), 8);
  a_.jump(Condition::equal, over);
  a_.mov(rax, of_rounds(offsetof(Rounds, steps)), 8);
  a_.compare(rax, of_rounds(offsetof(Rounds, limit)), 8);
  a_.jump(Condition::greater, over);
  a_.store(of_rounds(offsetof(Rounds, first_completions)), rsi, 8);
  a_.mov(rsi, of_rounds(offsetof(Rounds, live)), 4);
  a_.store(of_rounds(offsetof(Rounds, first_live)), rsi, 4);
  a_.add_to(of_rounds(offsetof(Rounds, whole)), 1, 4);
  go_to_lowest();
  a_.bind(over);
  a_.mov_constant(rax, 0);
  a_.jump(return_);
}

/// Where there are rounds, the warp ends and the next one goes on, if nobody notices. Otherwise
/// nothing.
void RegionEmitter::end_in_round() {
  const Label other = a_.label();
  a_.mov(rdx, of_rounds(offsetof(Rounds, ends)), 4);
  a_.test(rdx, rdx, 4);
  a_.jump(Condition::equal, other);
  a_.mov(rax, of_rounds(offsetof(Rounds, current)), 8);
  a_.mov(rcx, of_warp(rax, offsetof(RoundWarp, bit)), 4);
  a_.test(rdx, rcx, 4);
  a_.jump(Condition::equal, other);
  a_.compare_constant(of_rounds(offsetof(Rounds, waiting)), 0, 4);
  a_.jump(Condition::not_equal, other);
  a_.bit_xor(rcx, of_rounds(offsetof(Rounds, live)), 4);
  a_.store(of_rounds(offsetof(Rounds, live)), rcx, 4);
  next_of_round();
  a_.bind(other);
}

}  // namespace tilescope::emulator::compiled
