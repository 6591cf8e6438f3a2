// The events of asynchronous bulk work: when a thread issues an operation, and when it is done.
#pragma once

#include <cstdint>
#include <span>

namespace tilescope::emulator {

enum class BulkKind : std::uint8_t {
  load,       ///< global to shared memory
  store,      ///< shared to global memory
  exchange,   ///< shared memory of the issuing block to that of a block of its cluster
  registers,  ///< values of registers to shared memory of a block of the cluster (st.async)
  prefetch,   ///< global memory to the L2 cache
};

/// Who issued an operation.
struct BulkOrigin {
  std::uint32_t instruction = 0;  ///< InstructionId
  std::uint32_t rank = 0;         ///< of the block in its cluster
  std::uint32_t warp = 0;
  int lane = 0;
};

/// Neighbouring bytes that an operation moves. Addresses as in Access::addresses: device addresses
/// and offsets in a block's shared memory.
struct BulkPiece {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint32_t bytes = 0;
  bool filled = false;   ///< nothing is read: the source lies outside the tensor
  bool padding = false;  ///< written behind the end of a tensor's row: stores write whole 16 bytes
  bool begins_row = true;  ///< the first of a row of the box; of a copy without a tensor, its first
};

/// One operation, when it is issued and again when its destination has been written. The observers
/// of the issuing block receive the former; the latter those of the block that keeps the operation
/// (BulkEvent::barrier lies in its shared memory; otherwise it is the issuing block). The
/// destination of a load, an exchange and registers is that block.
struct BulkEvent {
  const BulkOrigin& origin;
  BulkKind kind;
  bool reduces;                       ///< what is there is combined with what comes
  std::span<const BulkPiece> pieces;  ///< in the order of the bytes
  std::uint32_t bytes;                ///< of all pieces
  std::uint32_t barrier;              ///< offset of the mbarrier it completes on; ~0: a bulk group
  std::uint64_t serial;               ///< the same in both events of an operation
  /// Blocks that receive it (multicast), each with an event of its own: 0 in all but the first.
  std::uint32_t copies;
  std::uint32_t target;  ///< rank of the block that keeps the operation
  std::uint64_t map;     ///< address of the tensor map; 0: it has none
};

/// cp.async.bulk.commit_group (pending == -1) or wait_group: at most `pending` of the youngest
/// groups of each lane in `mask` may still be under way.
struct BulkGroup {
  std::uint32_t instruction;
  std::uint32_t warp;
  std::uint32_t mask;
  std::int64_t pending;
  bool read;  ///< only the sources have been read
};

}  // namespace tilescope::emulator
