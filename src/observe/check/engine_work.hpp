// The work of engines, and the shared memory that it touches.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "observe/check/async_order.hpp"
#include "tilescope/finding.hpp"

namespace tilescope::observe {

/// Number of a work, from 1.
using WorkId = std::uint32_t;
inline constexpr WorkId kNoWork = 0;
inline constexpr std::uint32_t kNoMbarrier = ~0u;

/// A bulk copy, an asynchronous store, or a warp's group of products. It ends with a phase of an
/// mbarrier, or when the thread that started it has waited for its group.
struct EngineWork {
  EngineKind engine = EngineKind::bulk_copy;
  emulator::InstructionId instruction = 0;
  AsyncOrder::Warp warp = 0;  ///< that started it
  int lane = 0;
  std::uint32_t bytes = 0;
  std::uint64_t map = 0;  ///< address of its tensor map; 0: it has none
  std::uint32_t target =
      0;  ///< rank of the block whose memory it writes or whose barrier it ends at
  std::uint32_t issued = 0;              ///< time of the warp's block
  std::uint32_t mbarrier = kNoMbarrier;  ///< number
  std::uint32_t offset = 0;              ///< of the mbarrier
  std::uint32_t phase = 0;               ///< with which it ends
  bool done = false;                     ///< `phase` or `ended` is known
  bool committed = false;
  std::uint64_t group = 0;
  std::uint32_t ended = 0;                  ///< time of the wait
  std::uint32_t written = 0;                ///< time of the wait for its writes; 0: not yet
  std::vector<std::uint32_t> issuer_knows;  ///< as Knowledge::threads, if it writes
};

/// 16 bytes of shared memory: what engines copy and multiply comes in such pieces.
struct Granule {
  static constexpr std::uint32_t kBytes = 16;
  WorkId write = kNoWork, previous = kNoWork;  ///< the last two that write it
  std::array<WorkId, 8> reads{};               ///< works that may read it, of different warps
};

/// The granules of a block's shared memory.
class EngineShadow {
 public:
  void resize(std::uint32_t bytes) {
    granules_.assign((bytes + Granule::kBytes - 1) / Granule::kBytes, {});
    words_.clear();
  }
  /// Calls `visit(granule, address)` for each granule that the bytes touch.
  template <class Visit>
  void visit(std::uint64_t address, std::uint32_t bytes, Visit&& visit) {
    const std::uint64_t end = address + bytes;
    for (std::uint64_t at = address / Granule::kBytes; at * Granule::kBytes < end; ++at) {
      if (at >= granules_.size()) return;
      visit(granules_[at], at * Granule::kBytes);
    }
  }
  /// The asynchronous stores, by word: they are smaller than a granule.
  std::unordered_map<std::uint64_t, WorkId>& words() { return words_; }

 private:
  std::vector<Granule> granules_;
  std::unordered_map<std::uint64_t, WorkId> words_;
};

}  // namespace tilescope::observe
