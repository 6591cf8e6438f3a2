// Machine code of a region: the tests of its assumptions, its blocks, and its exits.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "emulator/compiled/access_sums.hpp"
#include "emulator/compiled/announce_emitter.hpp"
#include "emulator/compiled/counted_ways.hpp"
#include "emulator/compiled/number_emitter.hpp"
#include "emulator/compiled/region.hpp"
#include "emulator/compiled_code.hpp"

namespace tilescope::emulator::compiled {

enum class ExitKind : std::uint8_t {
  refused,  ///< an assumption does not hold: nothing has been done
  block,    ///< at the begin of a block
  yield,    ///< the same, but the warp's turn is over
  ends,     ///< all lanes have left the kernel
  inside,   ///< before an instruction of a block that has been counted
  waits,    ///< as inside, before a barrier: the warp is to go on at `entry`
  spins,    ///< at the begin of a block, in its next turn: the warp is to go on at `entry`
  failed,   ///< as inside: a check failed, or an access goes where only the interpreter knows
};

struct RegionExit {
  ExitKind kind = ExitKind::refused;
  std::uint32_t block = 0;
  std::uint32_t index = 0;  ///< in CodeFunction::code, for `inside`
  /// CompiledExit::parted_at
  std::array<std::uint32_t, 2> parted_at{kNone, kNone};
  std::size_t entry = 0;  ///< offset in the code, for `waits` and `spins`
  std::size_t inner = 0;  ///< the same for code that runs already
  /// The same, for `spins`: writes the registers to the frame, and leaves by the exit.
  std::size_t settle = 0;
  /// The barrier, where it is known and takes all threads of the block, for `waits`.
  std::optional<std::uint8_t> barrier = std::nullopt;
  WayRest taken_back = {};  ///< what has been counted and does not run
};

struct RegionCode {
  std::vector<std::uint8_t> bytes;
  std::vector<RegionExit> exits;  ///< by what the code returns; the first is `refused`
  int slots = 0;                  ///< that it uses
  /// Offset of the entry for warps whose assumptions held once: nothing that is assumed can have
  /// changed. 0: there is none.
  std::size_t trusted_entry = 0;
  std::size_t trusted_inner = 0;  ///< the same for code that runs already
  /// `trusted_inner` takes what depends on the block from CompiledState::block_numbers.
  bool knows_block = false;
  std::size_t rounds_entry = 0;              ///< for the next warp of Rounds; 0: there are none
  std::uint32_t round_barrier = kNoBarrier;  ///< Rounds::barrier
  RegionSums sums;
  RegionAnnounced announced;
  std::vector<CountedWay> ways;
};

/// Those of a program that go through all its regions.
struct ProgramNumbers {
  std::uint32_t bounds = 0;  ///< one past the highest AccessBounds
  SumNumbers sums;
  AnnounceNumbers announced;
};

/// The CPU has AVX-512, unless TILESCOPE_LANES chooses less, as for the interpreter.
bool has_512_bits();

/// RegionExit::barrier of the barrier that is this instruction.
std::optional<std::uint8_t> full_barrier(const FunctionPlan& plan, const Code& code);

class RegionEmitter {
 public:
  /// `watch`: the code for observers of accesses. `numbers` become those behind this region.
  /// `counters`: how often blocks have run so far.
  RegionEmitter(const FunctionPlan& plan, Region& region, AccessWatch watch,
                ProgramNumbers& numbers, const BlockCounter* counters);
  RegionCode emit();

 private:
  using Numbers = std::vector<KeptNumber>;
  /// Registers of which the frame has an older value where the code goes to a block.
  struct Passage {
    std::uint32_t to = 0;
    Numbers stale;
    Numbers unknown_inside;  ///< those that the block, inside the region, keeps in the frame
    Numbers only_here;       ///< known numbers, not only of those, that the block does not know
    bool inside = false;     ///< the block is in the region, and all that it knows holds here
  };
  /// Blocks that are made for those lanes only that run a part.
  struct MaskedCode {
    MaskedPart part;
    LaneMask lanes = kAllLanes;         ///< no others run it
    const MaskedCode* outer = nullptr;  ///< the lanes have parted from those that run this one
    std::map<std::uint32_t, Label> labels{};         ///< by block
    std::map<std::uint32_t, KnownFacts> at_begin{};  ///< of the blocks that lanes reach
  };
  void begin();
  void enter();
  void jump_unless_zero(int vector, Label to);
  bool is_lasting() const;
  void enter_trusted();
  bool knows_block() const;
  std::optional<std::size_t> block_number(std::uint32_t reg) const;
  void leave();
  void block(std::uint32_t b);
  void begin_block(const CodeBlock& block);
  void body(std::uint32_t b, std::uint32_t from);
  void parted(std::uint32_t b, std::uint32_t from, const KnownFacts& before, const Numbers& stale);
  const MaskedPart* part_behind(std::uint32_t b) const;
  void part_lanes(const MaskedPart& part);
  void settle_before(const MaskedPart& part);
  void count_on(const Code& code);
  void count_all_on(const Code& code);
  void announce_parting_of(const Code& code, Place taken);
  MaskedCode& new_masked(const MaskedPart& part, std::optional<LaneMask> takers);
  void masked_part(const MaskedPart& part, std::optional<LaneMask> takers);
  void end_masked_block(std::uint32_t b);
  void masked_branch(std::uint32_t b, std::optional<LaneMask> takers);
  void next_masked_round();
  void go_masked(std::uint32_t to);
  void end_of_part();
  void end_of_kernel();
  void begin_masked(const MaskedCode* code);
  bool is_kept(std::uint32_t reg) const {
    return masked_ != nullptr && masked_->part.kept.has(reg);
  }
  bool may_wait_in_loop(std::uint32_t b) const;
  void segment(Segment&& segment, std::uint32_t b, KnownFacts&& before, Numbers&& stale);
  void end_way();
  void end(std::uint32_t b, const RegisterSet& live);
  void load_predicate(std::uint32_t offset);
  void load_guard(const Code& code);
  void branch(std::uint32_t b, const RegisterSet& live);
  void branch_of(std::uint32_t b, LaneMask takers, const RegisterSet& live);
  void diverge(std::uint32_t b, std::optional<LaneMask> takers, const Numbers& stale);
  void together(std::uint32_t b, const RegisterSet& live);
  void check_members(std::uint32_t b, const RegisterSet& live);
  void wait(std::uint32_t b);
  void pause(const RegionExit& how, std::uint32_t next, const Numbers& stale);
  bool may_have_rounds() const;
  void arrive(std::uint32_t number, std::uint32_t next, Label inner);
  void spin_in_round(Label inner);
  void pause_in_round(Label inner, unsigned bytes);
  void next_of_round();
  void go_to_next();
  void go_to_lowest();
  void end_round();
  void end_in_round();
  void enter_rounds();
  void spin(const Passage& way);
  const std::map<std::uint32_t, KnownFacts>& facts_at(std::uint32_t block) const;
  bool knows_all_of(std::uint32_t block) const;
  void call(std::uint64_t function, const Operation& operation, const Numbers& mentioned);
  Numbers mentioned(const Operation& operation) const;
  bool names_neighbours(const Operation& operation) const;
  void skip_if_unwatched(Label unwatched);
  Passage passage(std::uint32_t to) const;
  /// Jumps to a block, which follows block `from` or is the target of its branch.
  void go(std::uint32_t from, const Passage& way, bool taken);
  void exit(const RegionExit& how, const Numbers& stale);
  void settle(const Numbers& numbers);
  void keep(const Numbers& numbers);
  /// Code that lies behind the blocks.
  void later(std::function<void()> what) { later_.push_back({current_, std::move(what)}); }

  const FunctionPlan& plan_;
  Region& region_;
  FactRules rules_;
  Facts facts_;  ///< at the place whose code is made
  Assembler a_;
  RegionCode code_;
  AccessWatch watch_;
  ProgramNumbers& program_numbers_;
  SegmentNumbers numbers_;
  SegmentBuilder segments_;
  std::deque<MaskedCode> masked_parts_;
  const MaskedCode* masked_ = nullptr;  ///< which code is being made; null: all lanes run
  WayBuilder ways_;
  std::uint32_t current_ = 0;   ///< the block of all lanes whose code is being made
  bool after_branch_ = false;   ///< its branch, which all lanes take, has been counted
  bool behind_blocks_ = false;  ///< the code that is being made lies there
  std::map<std::uint32_t, Label> blocks_;
  Label return_, trusted_, trusted_inner_, rounds_, round_is_over_;
  bool has_rounds_ = false;  ///< may_have_rounds
  struct Entry {
    std::size_t exit;
    Label at, inner, settle;
  };
  std::vector<Entry> entries_;  ///< where warps go on that have waited
  struct Later {
    std::uint32_t block;  ///< current_
    std::function<void()> what;
  };
  std::vector<Later> later_;
};

}  // namespace tilescope::emulator::compiled
