// The operands of bulk copies, and the rules that they all obey.
//
// Code::list has a Value for each operand; which is which, the decoder of the instruction says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "emulator/block.hpp"
#include "emulator/decoder.hpp"

namespace tilescope::emulator {

/// Collects operands for Code::list.
class BulkOperands {
 public:
  explicit BulkOperands(FunctionDecoder& decoder) : decoder_(decoder) {}
  /// An address, or a number that takes the place of one. `generic`: symbols stand for their
  /// generic addresses.
  void address(const ptx::Operand& operand, bool generic = false);
  /// A number; an immediate is read as `type`.
  void number(const ptx::Operand& operand, ptx::Type type);
  /// An operand that this form does not have.
  void none();
  std::size_t count() const { return list_.size() / kEntries; }
  void finish(Code& code) { decoder_.set_list(code, std::move(list_)); }

  static constexpr std::size_t kEntries = 4;  ///< register, its bytes, offset (low and high half)

 private:
  FunctionDecoder& decoder_;
  std::vector<std::uint32_t> list_;
};

/// The value of operand `which` in a lane.
std::uint64_t bulk_value(Context& w, const Code& c, std::size_t which, int lane);
bool has_bulk_value(const Code& c, std::size_t which);

/// Shared memory of a block of the cluster.
struct SharedTarget {
  Block* block;
  std::uint32_t offset;
};

/// A lane that issues a bulk copy, with the checks that report a fault.
struct BulkIssuer {
  Context& w;
  const Code& c;
  int lane;

  BulkOrigin origin() const;
  /// Reports a broken rule.
  void refuse(const std::string& rule) const;
  /// Reports a faulty access.
  void fault(FaultKind kind, Space space, std::uint64_t address, std::uint64_t bytes,
             AccessKind access) const;
  /// False, and reported, if the address is no multiple.
  bool aligned(Space space, std::uint64_t address, unsigned alignment, AccessKind access) const;
  /// `bytes` of shared memory of a block of the cluster; nothing, and reported, if they lie
  /// elsewhere.
  std::optional<SharedTarget> shared(std::uint64_t address, std::uint64_t bytes,
                                     AccessKind access) const;
  /// The mbarrier at an address.
  std::optional<SharedTarget> barrier(std::uint64_t address) const;
  /// The allocation that holds the address, if it can be accessed like this; null, and reported, if
  /// none does. The access takes `bytes`, which may be more than it has.
  Allocation* global(std::uint64_t address, std::uint64_t bytes, AccessKind access) const;

  /// Tells the observers of an operation that has no effect: a prefetch.
  void announce(BulkOperation&& operation) const;
  /// Queues an operation of a bulk group.
  void issue(BulkOperation&& operation) const;
  /// Queues an operation that completes on an mbarrier, in the block that holds it. With `blocks`
  /// (bit r: the block of rank r) each of these receives the bytes, and its barrier at the same
  /// offset counts them.
  void deliver(const SharedTarget& barrier, std::optional<std::uint64_t> blocks,
               BulkOperation&& operation) const;
};

}  // namespace tilescope::emulator
