// How warps that have their turns in rounds arrive at barriers, spin, and give the turn to the next
// one.
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

/// Where there are rounds at this barrier, as Block::arrive_whole and the end of the turn; the warp
/// goes on at `inner`, which leads to block `next`. Otherwise nothing.
void RegionEmitter::arrive(std::uint32_t number, std::uint32_t next, Label inner) {
  has_rounds_ = true;
  code_.round_barrier = number;
  const Label other = a_.label(), complete = a_.label();
  a_.mov(rax, of_rounds(offsetof(Rounds, current)), 8);
  a_.test(rax, rax, 8);
  a_.jump(Condition::equal, other);
  a_.compare_constant(of_rounds(offsetof(Rounds, barrier)), static_cast<std::int32_t>(number), 4);
  a_.jump(Condition::not_equal, other);
  a_.mov(rcx, at(kTurn), 8);
  a_.test(rcx, rcx, 8);
  a_.jump(Condition::less, other);
  pause_in_round(inner);
  a_.mov_constant(rdx, 0);
  a_.store(of_warp(rax, offsetof(RoundWarp, spins)), rdx, 4);
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

/// rax: the warp. It is to go on at `inner`.
void RegionEmitter::pause_in_round(Label inner) {
  a_.address(rdx, inner);
  a_.store(of_warp(rax, offsetof(RoundWarp, entry)), rdx, 8);
  a_.mov_constant(rdx, code_.exits.size());
  a_.store(of_warp(rax, offsetof(RoundWarp, exit)), rdx, 4);
}

/// Where there are rounds, the turn ends behind a round of a loop that may wait for others.
/// Otherwise nothing.
void RegionEmitter::spin_in_round(Label inner) {
  const Label other = a_.label();
  a_.mov(rax, of_rounds(offsetof(Rounds, current)), 8);
  a_.test(rax, rax, 8);
  a_.jump(Condition::equal, other);
  pause_in_round(inner);
  a_.mov(rdx, of_warp(rax, offsetof(RoundWarp, spins)), 4);
  a_.add_constant(rdx, 1, 4);
  a_.store(of_warp(rax, offsetof(RoundWarp, spins)), rdx, 4);
  a_.mov(rcx, at(kTurn), 8);
  next_of_round();
  a_.bind(other);
}

/// rcx: what is left of the turn, which ends. The next warp of the round goes on; where there is
/// none the code returns 0.
void RegionEmitter::next_of_round() {
  a_.mov(rdx, of_rounds(offsetof(Rounds, longest)), 8);
  a_.store(at(kTurn), rdx, 8);
  a_.subtract(rdx, rcx, 8);
  a_.add_to(of_rounds(offsetof(Rounds, steps)), rdx, 8);
  go_to_next();
}

void RegionEmitter::go_to_next() {
  a_.mov(rcx, of_rounds(offsetof(Rounds, ready)), 4);
  a_.mov_constant(rax, 0);
  a_.test(rcx, rcx, 4);
  a_.jump(Condition::equal, return_);
  a_.lowest_one(rdx, rcx, 4);
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
  a_.mov(kTurn, of_warp(rdx, offsetof(RoundWarp, turn)), 8);
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
}

}  // namespace tilescope::emulator::compiled
