// The functions that compiled code calls.
#pragma once

#include <cstdint>

#include "emulator/compiled/compiled_state.hpp"
#include "emulator/compiled/known_operation.hpp"
#include "emulator/known_access.hpp"

namespace tilescope::emulator::compiled {

/// Code that calls one of the functions below: its first argument is the state, the others are in
/// rsi, rdx, rcx and r8.
void emit_call(Assembler& assembler, std::uint64_t function);
template <class Function>
void emit_call(Assembler& assembler, Function* function) {
  emit_call(assembler, reinterpret_cast<std::uint64_t>(function));
}

/// The context becomes that of the warp that has its turn in rounds, and the block hears of the
/// turns that are over.
void bind_context(CompiledState& state);

/// Finds the allocation that holds [low, low + span) and keeps it in the bounds; 0 if there is
/// none.
std::uint32_t find_bounds(CompiledState* state, std::uint32_t bounds, std::uint64_t low,
                          std::uint64_t span, std::uint32_t constant_space);

/// Runs an instruction by its executor, for the lanes whose guard holds.
void run_operation(CompiledState* state, const Code* code);

/// The same, for those of the lanes that run a part by themselves.
void run_masked_operation(CompiledState* state, const Code* code);

/// Tells observers that of these lanes only those `taken` take a branch.
void announce_parting(CompiledState* state, const Code* code, LaneMask lanes, LaneMask taken);

/// Runs an access by its executor, for all lanes or those that run a part by themselves. Of global
/// memory the bounds become those of the allocation that the first lane meets.
void run_lanes(CompiledState* state, const Code* code, std::uint32_t bounds);
void run_masked_lanes(CompiledState* state, const Code* code, std::uint32_t bounds);

/// Runs a warp instruction of all lanes.
void run_together(CompiledState* state, const Code* code);

/// Tells the observers of order of a warp instruction of all lanes.
void announce_together(CompiledState* state, const Code* code);

/// An access of the group is the first in its entry, or in a lower place: tells the observers.
void announce_first(CompiledState* state, const SumGroup* group, SumEntry* entry);

/// Marks what an access touches. `address`: of the first run.
void mark_touched(CompiledState* state, const MarkGroup* marks, std::uint64_t address);

/// Tells the observers of known accesses, which are about to happen.
void announce_accesses(CompiledState* state, const KnownGroup* group);

/// A register of f32 or f64 in the frame.
struct RealRegister {
  std::uint32_t offset = 0, width = 0;
};

/// Makes all NaNs of registers the chip's one.
void replace_nans(CompiledState* state, const RealRegister* registers, std::uint64_t count);

/// The condition under which an integer comparison holds after `cmp`.
Condition condition_of(const Operation& comparison);

}  // namespace tilescope::emulator::compiled
