// The order of accesses of a block's threads: as the program orders them, not in the sequence in
// which the emulator happens to run it.
//
// Time is one counter for the block; it advances at every event that orders something. A barrier of
// all threads orders everything before it, so one number (the epoch) tells whether an access still
// matters. Below that, lanes of a warp are ordered by warp-level operations, and warps by partial
// barriers and by flags. A thread's own accesses are in its program's order.
//
// Flags: the next atomic or strong store of a warp publishes what the warp did before a fence, and
// a warp that then reads the same address by an atomic or a strong load knows it. Only a read that
// says .relaxed needs a fence or a barrier behind it: until then the warp has heard of the data, no
// more. Any other needs none here, because too many correct programs rely on volatile and on the
// atomics without order. Knowledge is kept for warps, not for lanes. Both err on the side of
// silence.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "emulator/events.hpp"
#include "observe/access_tag.hpp"

namespace tilescope::observe {

inline constexpr std::uint32_t kMostWarps = 32;
/// By warp: accesses earlier than this are included.
using WarpTimes = std::array<std::uint32_t, kMostWarps>;

class BlockOrder {
 public:
  explicit BlockOrder(std::uint32_t warps);

  /// True if the clock had to start again: holders of older times must clear them.
  bool begin_block();
  std::uint32_t time() const { return time_; }
  /// Begins a new time, which it returns: all that was done so far is earlier.
  std::uint32_t advance() { return ++time_; }
  /// Accesses before it happened before all later ones.
  std::uint32_t epoch() const { return epoch_; }
  /// Accesses before it belong to other blocks.
  std::uint32_t block_start() const { return block_start_; }

  /// Whether `earlier` happened before the present action of this lane.
  bool ordered(const Event& earlier, std::uint32_t warp, int lane) const {
    if (earlier.time < epoch_) return true;
    const std::uint32_t other = earlier.tag.warp();
    if (other != warp) return earlier.time < known_[warp][other];
    const int other_lane = earlier.tag.lane();
    return other_lane == lane || earlier.time < whole_warp_[warp] ||
           (pairs_[warp] && earlier.time < (*pairs_[warp])[static_cast<std::size_t>(lane)]
                                                          [static_cast<std::size_t>(other_lane)]);
  }

  /// Whether only the epoch, the lane itself and syncs of the whole warp order what came before the
  /// present actions of this warp: no part of it and no other warp has synchronised with it since
  /// the epoch began.
  bool is_simple(std::uint32_t warp) const { return latest_known_[warp] <= epoch_; }
  /// The last sync of the whole warp: what it did earlier is in order.
  std::uint32_t whole_warp(std::uint32_t warp) const { return whole_warp_[warp]; }

  /// Whether this warp has heard of `earlier` by a relaxed read, without order.
  bool heard(const Event& earlier, std::uint32_t warp) const {
    return relaxed_ && earlier.time < heard_[warp][earlier.tag.warp()];
  }

  /// Lanes reach a barrier; a lane that only arrives continues at once.
  void arrive(const emulator::BarrierArrival& arrival);
  void barrier(const emulator::BarrierCompletion& completion, const emulator::BlockView& view);
  void warp_sync(std::uint32_t warp, emulator::LaneMask members, emulator::LaneMask live);
  void fence(std::uint32_t warp, emulator::Scope scope);
  /// An atomic or strong store publishes; an atomic or strong load learns. `variable` names the
  /// address (word_at).
  void release(std::uint32_t warp, std::uint64_t variable);
  void acquire(std::uint32_t warp, std::uint64_t variable, bool relaxed);
  /// The work that is published at an address; null if nothing.
  const WarpTimes* released(std::uint64_t variable) const {
    const auto found = variables_.find(variable);
    return found == variables_.end() ? nullptr : &found->second;
  }
  /// What happened before the present action of a warp, fenced or not. Begins a new time.
  WarpTimes passed(std::uint32_t warp);
  /// The work that a warp has made visible to the whole GPU by fences; null if nothing.
  const WarpTimes* published(std::uint32_t warp) const {
    return gpu_fences_ ? &fenced_gpu_[warp] : nullptr;
  }

 private:
  /// The work of a warp that did not wait, as of its arrival.
  struct Arrival {
    std::uint32_t warp, time;
    WarpTimes known;
  };
  using Pairs = std::array<std::array<std::uint32_t, 32>, 32>;
  Pairs& pairs(std::uint32_t warp);
  void order_lanes(std::uint32_t warp, emulator::LaneMask lanes);
  void order_heard(std::uint32_t warp);
  /// One bit for each of the warps.
  void join_fences(std::uint32_t warps);
  void order_waiting(std::uint8_t barrier, const std::array<emulator::LaneMask, kMostWarps>& waited,
                     const emulator::BlockView& view);

  std::uint32_t warps_;
  std::uint32_t time_ = 0, epoch_ = 0, block_start_ = 0;
  std::vector<WarpTimes> known_;             ///< [warp][other warp]
  std::vector<std::uint32_t> latest_known_;  ///< by warp: no time in `known_` and `pairs_` is later
  std::vector<std::uint32_t> whole_warp_;
  std::vector<std::unique_ptr<Pairs>> pairs_;      ///< [lane][other lane], if parts of a warp
                                                   ///< synchronised
  std::vector<WarpTimes> fenced_, fenced_gpu_;     ///< what each warp published at its last fence
  std::array<std::vector<Arrival>, 16> arrivals_;  ///< by barrier, until it is complete
  bool fences_ = false, gpu_fences_ = false;
  bool relaxed_ = false;          ///< a relaxed read has learned something
  std::vector<WarpTimes> heard_;  ///< [warp][other warp], by relaxed reads
  std::unordered_map<std::uint64_t, WarpTimes> variables_;
};

}  // namespace tilescope::observe
