// The asynchronous work of a block: bulk and tensor copies that were issued and are not done yet.
//
// An operation is done as late as the program allows: when somebody waits for what announces it,
// and at the latest when the block (its cluster) ends. So a forgotten wait shows in every run.
// A schedule has operations done earlier, in any order.
// An operation that completes on an mbarrier is queued in the block whose shared memory holds the
// barrier; one that belongs to a bulk group, in the block of the thread that issued it. A multicast
// is one operation for each destination block.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "emulator/launch_state.hpp"
#include "ptx/modifiers.hpp"

namespace tilescope::emulator {

inline constexpr std::uint32_t kNoBarrier = ~0u;
/// For complete_tx of a copy whose size is not known, because it was faulty: all that is expected.
inline constexpr std::uint32_t kAllBytes = ~0u;

struct BulkOperation {
  BulkOrigin origin;
  BulkKind kind = BulkKind::load;
  std::vector<BulkPiece> pieces;
  /// Added to an address of a piece, they give one of the host.
  std::uintptr_t from_base = 0, to_base = 0;
  /// Offset of the mbarrier in the shared memory of the queue's block; kNoBarrier: a bulk group.
  std::uint32_t barrier = kNoBarrier;
  std::uint32_t barrier_bytes = 0;  ///< for complete_tx
  /// Not none: the bytes are combined with what is there, element by element of `type`.
  ptx::ReduceOp reduce = ptx::ReduceOp::none;
  ptx::Type type = ptx::Type::none;
  bool flushes = false;                ///< as in AtomicUpdate
  std::array<std::uint8_t, 8> fill{};  ///< what pieces without a source receive, again and again
  bool rounds_to_tf32 = false;         ///< what is read: numbers of 32 bits
  std::uint32_t span = 16;             ///< as in TileUse
  /// The bytes of all pieces, once they have been read; from the beginning for registers.
  std::vector<std::uint8_t> staged;
  bool is_staged = false;
  std::uint32_t copies = 1;  ///< as in BulkEvent
  std::uint32_t target = 0;  ///< likewise
  std::uint64_t map = 0;     ///< likewise
  std::uint64_t group = 0;   ///< number of the thread's group; set when issued
  std::uint64_t serial = 0;  ///< set when issued
};

class AsyncEngine {
 public:
  /// `shared`: the block's shared memory; `observers` may be filled later.
  AsyncEngine(std::uint8_t* shared, std::size_t threads, const BlockObserverSlots& observers,
              std::optional<Schedule>& schedule)
      : shared_(shared), threads_(threads), observers_(observers), schedule_(schedule) {}

  /// Forgets everything: a new block starts.
  void clear();
  bool idle() const { return queue_.empty(); }
  /// Queues an operation and tells `issuers`, the observers of the block that issued it.
  void issue(const BlockObserverSlots& issuers, BulkOperation&& operation);
  /// Only tells them.
  static void announce(const BlockObserverSlots& issuers, const BulkOperation& operation) {
    emit(issuers, operation, false);
  }

  /// A wait for the mbarrier at `offset` of this block failed: does, in the order of issue, what
  /// completes on it, until its phase ends. True if anything was done; then test again.
  bool finish_barrier(std::uint32_t offset);
  /// cp.async.bulk.commit_group of these lanes.
  void commit_groups(std::uint32_t warp, LaneMask lanes);
  /// cp.async.bulk.wait_group: finishes all but the `pending` youngest groups of each lane; with
  /// `read` their sources are read, and the destinations may wait.
  void wait_groups(std::uint32_t warp, LaneMask lanes, std::uint64_t pending, bool read);
  /// The schedule may have one of them done. True if it was.
  bool finish_some();
  /// Does all that is left: the block, or its cluster, ends.
  void finish_all();

 private:
  void read_sources(BulkOperation& operation) const;
  void perform(BulkOperation& operation);
  /// Performs one operation, whatever was issued before it, unless it is faulty.
  bool finish_one(std::size_t index);
  static void emit(const BlockObserverSlots& observers, const BulkOperation& operation, bool done);
  /// Tells the block's observers what an operation does to its mbarrier.
  void tell(const BulkOperation& operation, MbarrierAction action, MbarrierWord before,
            MbarrierWord after, std::uint32_t bytes) const;
  /// Tells them of the tile that an operation will write.
  void tell_tile(const BulkOperation& operation) const;

  std::uint8_t* shared_;
  std::size_t threads_;
  const BlockObserverSlots& observers_;
  std::optional<Schedule>& schedule_;
  std::vector<BulkOperation> queue_;
  std::vector<std::uint64_t> committed_;  ///< groups, by thread; empty until the first commit
  std::uint64_t serial_ = 0;
};

}  // namespace tilescope::emulator
