// Reads of memory that was never written.
//
// Local memory: judged at once, byte by byte. Shared memory: a read of what is written later by a
// thread that nothing orders after it is a race, which is reported as one; it is undefined for
// certain when the write is ordered after it, or never comes. So candidates wait for the write
// (PendingReads). Global memory: what the host or an earlier
// launch has written is defined (Allocation::initialised); so is what the block itself wrote
// before. A byte that another block of the same launch writes is no undefined read: whether it
// comes in time is a question of order, which the race check answers. So candidates wait until the
// launch has ended.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "emulator/events.hpp"
#include "observe/access_tag.hpp"
#include "observe/check/block_order.hpp"
#include "observe/check/bulk_writes.hpp"
#include "observe/check/grid_summary.hpp"
#include "observe/check/lane_cells.hpp"
#include "observe/describe.hpp"
#include "ptx/instruction.hpp"

namespace tilescope::observe {

/// The condition for a defined read. Copies of structures move their padding along: so for integers
/// and plain bits one defined byte is enough, and only floating point needs every byte.
enum class ReadRule : std::uint8_t { one_byte, every_byte };
ReadRule read_rule(const ptx::Instruction& instruction);

/// `flags` has all(offset, bytes) and any(offset, bytes): which bytes are defined.
template <class Flags>
bool reads_undefined(const Flags& flags, std::uint64_t offset, std::uint32_t bytes, ReadRule rule) {
  return rule == ReadRule::every_byte ? !flags.all(offset, bytes) : !flags.any(offset, bytes);
}

/// Folded by instruction; keeps the examples of the lowest blocks and addresses.
class UndefinedReads {
 public:
  struct Example {
    std::uint64_t block, address;
    std::uint32_t thread;
    friend auto operator<=>(const Example&, const Example&) = default;
  };
  struct Reads {
    std::uint64_t count = 0;  ///< lanes
    std::set<Example> examples;
    std::string variable;  ///< of local memory: the name at the time
  };
  void add(emulator::InstructionId id, emulator::Space space, const Example& example,
           const std::string& variable = {});
  void merge(const UndefinedReads& other);
  /// `summary` null: other blocks' writes are unknown, and reads of global memory are left out.
  void describe(const Describer& describer, const GridSummary* summary,
                const BulkWrites& bulk_writes, std::vector<Finding>& findings) const;

 private:
  static constexpr std::size_t kMostExamples = 64;
  std::map<std::pair<emulator::InstructionId, emulator::Space>, Reads> reads_;
};

/// Reads of shared memory of one block that found nothing written.
class PendingReads {
 public:
  bool empty() const { return reads_.empty(); }
  void add(const Event& read, std::uint64_t address, std::uint32_t bytes);
  /// The lanes of `touched` write now: reads that they race with are forgotten, others are
  /// undefined.
  void write(const BlockOrder& order, std::uint32_t warp, const LaneCells& cells,
             std::uint64_t base, std::uint64_t block, UndefinedReads& undefined);
  /// A thread of another block writes: reads that it may have come too late for are forgotten.
  void forget(std::uint64_t address, std::uint32_t bytes);
  /// No more writes will come.
  void finish(std::uint64_t block, UndefinedReads& undefined);

 private:
  static constexpr std::size_t kMost = 1u << 16;
  struct Read {
    Event event;
    std::uint64_t address;
  };
  static void confirm(const Read& read, std::uint64_t block, UndefinedReads& undefined);

  std::multimap<std::uint64_t, Read> reads_;  ///< by word
};

}  // namespace tilescope::observe
