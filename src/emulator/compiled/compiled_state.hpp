// The state that compiled code works on: one object for each host thread. Compiled code keeps its
// members in registers (kFrame and the following) while it runs.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "emulator/compiled/access_sums.hpp"
#include "emulator/compiled/assembler.hpp"
#include "emulator/launch_state.hpp"
#include "emulator/touched_bytes.hpp"

namespace tilescope::emulator::compiled {

/// The allocation that the last access of a group of instructions met: their lowest address lies in
/// [begin, begin + limit) exactly when all of them are inside. Each CountedWay has one, too.
struct AccessBounds {
  std::uint64_t begin = 0;  ///< or how often a way has run
  std::uint64_t limit = 0;
  std::uint64_t to_host = 0;            ///< to be added to an address
  std::uint64_t read = 0, written = 0;  ///< as in TouchedBytes::MarkAddresses, where there are any
  std::uint32_t region = TouchedBytes::kNowhere;  ///< of TouchedBytes
};

struct CompiledRegion;

/// A warp of a block whose warps have their turns in rounds (turn_rounds.hpp). Code finds it by
/// its number: 64 bytes each.
struct alignas(64) RoundWarp {
  const std::uint8_t* entry = nullptr;  ///< where it goes on
  std::uint8_t* frame = nullptr;
  std::uint64_t* slots = nullptr;
  std::uint64_t place = 0;  ///< CompiledState::place
  std::uint32_t exit = 0;   ///< by which it has paused last; 0: it has not
  std::uint32_t spins = 0;  ///< as in Warp, since the last barrier
  std::uint32_t bit = 0;    ///< of its number
  std::uint32_t above = 0;  ///< bits of higher numbers
  const CompiledRegion* region = nullptr;
  const std::uint8_t* beginning = nullptr;  ///< where it begins the next block, if it has begun
};
inline constexpr int kRoundWarpShift = 6;
static_assert(sizeof(RoundWarp) == 1 << kRoundWarpShift);

/// Rounds::barrier where there are no rounds, or rounds of warps that meet no barrier.
inline constexpr std::uint32_t kNoBarrier = 0xffffffffu;

/// Sets of warps are bits by number.
struct Rounds {
  RoundWarp* current = nullptr;  ///< that has its turn; null: there are no rounds
  RoundWarp* warps = nullptr;
  std::uint32_t live = 0;
  std::uint32_t waiting = 0;
  std::uint32_t ready = 0;  ///< those that will have their turn in this round
  std::uint32_t ends = 0;   ///< those whose end nobody notices, where none waits
  std::uint32_t barrier = kNoBarrier;
  std::uint64_t completions = 0;
  std::int64_t steps = 0;    ///< warp instructions of the turns that are over
  std::int64_t longest = 0;  ///< those that a turn begins with
  // As the round began:
  std::uint64_t first_completions = 0;
  std::uint32_t first_live = 0;
  std::uint32_t whole = 0;  ///< rounds behind which code has begun a further one
  std::int64_t limit = 0;   ///< of steps; behind them it does not
};

inline constexpr std::size_t kBlockNumbers = 8;

struct CompiledState {
  std::uint8_t* frame = nullptr;
  std::int64_t turn = 0;  ///< warp instructions that are left of it; kTurn while code runs
  BlockCounter* counters = nullptr;
  std::uint64_t* lanes_on = nullptr;  ///< as in Worker
  AccessBounds* bounds = nullptr;
  /// The numbers of registers of known shape, from place kSlotsBefore on.
  std::uint64_t* slots = nullptr;
  std::uint8_t* shared = nullptr;
  std::uint64_t shared_bytes = 0;
  const std::uint8_t* parameters = nullptr;
  Context* context = nullptr;
  Worker* worker = nullptr;
  std::uint32_t alone = 0;  ///< 1: no other host thread runs blocks of the launch
  /// Where only some lanes run a part: those that take the branch before it, and those that run it.
  /// Wider than a mask, as code reads a word from any byte of it. Where some of these have parted
  /// from the others once more: those that took that branch, and all that ran before.
  std::array<LaneMask, 2> taken{};
  std::uint64_t mask = 0;
  std::uint64_t outer_mask = 0;
  Rounds rounds;
  /// The numbers of LaunchState::block_numbers, for the block that has rounds.
  std::array<std::uint64_t, kBlockNumbers> block_numbers{};
  // Where observers take accesses added up:
  SumEntry* sums = nullptr;
  std::uint64_t place = 0;          ///< of the warp that runs, as in SumEntry
  std::uint64_t* recent = nullptr;  ///< tables of kRecentAddresses
  std::vector<UsedEntry>* used = nullptr;
  TouchedBytes* touched = nullptr;  ///< null: nobody wants to know
};

/// Compiled code: returns the number of its exit.
using Run = std::uint64_t (*)(CompiledState*);

inline constexpr Gpr kState = rbx, kSlots = rbp, kFrame = r12, kTurn = r13, kCounters = r14,
                     kBounds = r15;

/// kSlots lies so far behind the begin of the slots: displacements from -128 to 127 are short.
inline constexpr int kSlotsBefore = 16;

/// Slots have places in the order in which code first names them: those that are used most are
/// near.
inline Place dense_place(int place) {
  return at(kSlots, (std::int64_t{place} - kSlotsBefore) * 8);
}
inline Place slot_place(Assembler& assembler, int slot) {
  return dense_place(assembler.dense(slot));
}
inline std::uint64_t dense_number(const CompiledState& state, int place) {
  return state.slots[place - kSlotsBefore];
}

}  // namespace tilescope::emulator::compiled
