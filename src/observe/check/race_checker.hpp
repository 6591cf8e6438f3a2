// Data races between the threads of one block, in shared and in global memory.
//
// Every cell of memory remembers its last write, its last atomic and two readers (access_tag.hpp).
// A new access races with a remembered one when they are of different threads, at least one writes,
// not both are atomic, and BlockOrder does not order them. The warp's lockstep orders
// nothing: lanes of a warp may run apart, and the chip promises no more than the program asks for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "emulator/events.hpp"
#include "observe/check/block_order.hpp"
#include "observe/check/lane_cells.hpp"
#include "observe/check/race_log.hpp"
#include "observe/check/shadow_page.hpp"
#include "observe/check/store_values.hpp"
#include "observe/check/volatile_races.hpp"
#include "observe/check/wild_threads.hpp"

namespace tilescope::observe {

class RaceChecker {
 public:
  RaceChecker(BlockOrder& order, const StoreValues& values, const std::vector<AccessRole>& roles)
      : order_(order), values_(values), roles_(roles) {}

  void begin_block(std::uint64_t block) { block_ = block; }
  /// `cells` describes `access`. Shadow: SharedShadow or GlobalShadow.
  template <class Shadow>
  void access(const emulator::Access& access, const LaneCells& cells, Shadow& shadow);
  /// A plain load of global memory while the order is simple (BlockOrder). `base`: the address of
  /// the first lane.
  void load(std::uint32_t instruction, std::uint32_t warp, const LaneCells& cells,
            std::uint64_t base, GlobalShadow& shadow);
  /// Whether a plain load of words of shared memory may be logged: nothing has changed them since
  /// the last barrier. `base`: the address of the first lane. The order must be simple
  /// (BlockOrder).
  bool may_log(std::span<const Run> runs, std::uint64_t base, SharedShadow& shadow) const;
  /// Takes note of such a load, whatever comes before the next barrier.
  void log_read(std::uint32_t instruction, std::uint32_t warp, const LaneCells& cells,
                std::uint64_t base, SharedShadow& shadow);
  /// The same for several at once. `starts`: the addresses of their stretches.
  void log_reads(const KnownLoads& loads, std::uint32_t warp, std::span<const std::uint64_t> starts,
                 SharedShadow& shadow);
  /// Makes the logged reads records of their cells.
  void settle(SharedShadow& shadow);
  /// A pending copy (cp.async) of a lane has landed, or the block has ended.
  void finish_copy(std::uint64_t address, std::uint32_t bytes, std::uint32_t warp, int lane,
                   SharedShadow& shadow);
  /// The lane writes to the source of a pending copy.
  void overwrite_source(const Event& copy, const emulator::Access& access, int lane,
                        std::uint64_t address);

  void fault(const emulator::Fault& fault) { wild_.add(block_, fault); }
  /// The lanes of the access read flags.
  void note_flags(const emulator::Access& access, AccessRole role) { flags_.add(access, role); }

  const RaceLog& log() const { return log_; }
  const VolatileRaces& volatile_races() const { return volatile_; }
  const FlagWords& flags() const { return flags_; }
  const WildThreads& wild_threads() const { return wild_; }

 private:
  /// Later than any epoch: pending writes are never out of date.
  static constexpr std::uint32_t kNeverOrdered = 0xffffffffu;

  /// One access of some lanes to one cell.
  struct Now {
    const emulator::Access* access;  ///< null: a plain load
    std::uint32_t instruction;
    std::uint32_t warp;
    emulator::LaneMask lanes;
    std::uint64_t address;
    std::uint32_t bytes;  ///< of the cell
    emulator::Space space;
    Strength strength;
  };
  /// As `access`, for plain loads and stores while the order is simple.
  template <class Shadow>
  void access_simply(Now& now, const LaneCells& cells, std::uint64_t base, AccessVerb verb,
                     Shadow& shadow);
  template <class Shadow>
  void access_apart(Now& now, const WordAccess& access, const LaneCells& cells, std::uint64_t base,
                    AccessVerb verb, Shadow& shadow);
  bool access_row(const Now& now, const LaneCells& cells, std::size_t run, std::uint32_t in_run,
                  std::uint32_t count, AccessVerb verb, ShadowPage& page, std::uint32_t cell) const;
  ShadowPage* open(std::uint64_t address, std::uint32_t changed, SharedShadow& shadow);
  ShadowPage* open(std::uint64_t address, std::uint32_t changed, GlobalShadow& shadow);
  bool quieten(ShadowPage& page) const;
  ReadLog& open_log(SharedShadow& shadow);
  void touch(ShadowPage& page, std::uint32_t number, const Now& now, AccessVerb verb);
  void read(CellRecords& records, std::uint32_t number, const Now& now);
  void write(CellRecords& records, std::uint32_t number, const Now& now);
  void check_atomic(const CellRecords& records, std::uint32_t number, const Now& now,
                    AccessVerb verb);
  void check_readers(const CellRecords& records, std::uint32_t number, const Now& now,
                     AccessVerb verb);
  void remember_reader(Event (&readers)[2], const Event& reader) const;
  /// Reports a race of some of the lanes with `earlier`.
  void check(const Event& earlier, AccessVerb earlier_verb, const Now& now, AccessVerb verb);
  bool writes_same_bits(const Now& now, RaceRelation relation, int lane) const;
  void report(const Event& earlier, AccessVerb earlier_verb, const Now& now, AccessVerb verb,
              int lane, RaceRelation relation);

  BlockOrder& order_;
  const StoreValues& values_;
  const std::vector<AccessRole>& roles_;
  std::uint64_t block_ = 0;
  RaceLog log_;
  VolatileRaces volatile_;
  FlagWords flags_;
  WildThreads wild_;
};

/// The strength of an access in a race.
Strength strength_of(const emulator::Access& access);
AccessVerb verb_of(emulator::AccessKind kind);

}  // namespace tilescope::observe
