// The order between the threads of a cluster and the engines that work for them: copy engine and
// tensor cores.
//
// Every warp keeps what it knows of the others, as times of their blocks (BlockOrder::time):
// actions before such a time happened before all that the warp does now. Knowledge passes through
// barriers of the block and of the cluster, through phases of mbarriers, and through flags. Beside
// it stands what a fence.proxy.async has made visible to engines: a fence anywhere on the way from
// the writer to the thread that starts the engine counts, as in PTX's model. A phase of an mbarrier
// is known to those who saw it end, and to those who learned of it from them; the work of an engine
// that completes on the barrier ends with the phase.
//
// Knowledge is that of warps, not of lanes, which errs on the side of silence.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "observe/check/block_order.hpp"

namespace tilescope::observe {

/// The knowledge of a warp, or of a place where warps meet.
struct Knowledge {
  std::vector<std::uint32_t> threads;  ///< by warp of the cluster: its actions before this time
  std::vector<std::uint32_t> fenced;   ///< likewise: its writes that engines see
  std::vector<std::uint32_t> phases;   ///< by mbarrier: how many are over
  std::vector<std::uint32_t> maps;     ///< as threads: writes released to the tensor maps' proxy

  void join(const Knowledge& other);
};

class AsyncOrder {
 public:
  /// The warp of a block of the cluster.
  using Warp = std::uint32_t;

  AsyncOrder(std::uint32_t blocks, std::uint32_t warps_per_block);
  /// `order` keeps the time of the block of this rank.
  void enter(std::uint32_t rank, BlockOrder& order) { orders_[rank] = &order; }

  Warp warp_of(std::uint32_t rank, std::uint32_t warp) const { return rank * warps_ + warp; }
  std::uint32_t rank_of(Warp warp) const { return warp / warps_; }
  std::uint32_t index_of(Warp warp) const { return warp % warps_; }
  std::uint32_t time(Warp warp) const { return orders_[rank_of(warp)]->time(); }
  std::uint32_t start(std::uint32_t rank) const { return orders_[rank]->block_start(); }
  const Knowledge& of(Warp warp) const { return warps_known_[warp]; }

  /// Whether `other`'s action at this time happened before what `warp` does now.
  bool knows(Warp warp, Warp other, std::uint32_t time) const {
    return warp == other || time < warps_known_[warp].threads[other];
  }
  /// Whether an engine that `warp` starts now sees what `other` wrote at this time.
  bool fenced(Warp warp, Warp other, std::uint32_t time) const {
    return time < warps_known_[warp].fenced[other];
  }
  /// Whether a thread of the block of this rank is known to have started.
  bool knows_of(Warp warp, std::uint32_t rank) const;
  /// Whether some warp of the block of this rank knows of the action.
  bool block_knows(std::uint32_t rank, Warp other, std::uint32_t time) const;

  // Places where warps meet.
  void arrive(std::uint32_t rank, const emulator::BarrierArrival& arrival);
  void complete(std::uint32_t rank, const emulator::BarrierCompletion& completion);
  /// `relaxed`: the arrival tells only what the warp knew at its last fence, and that it lives.
  void arrive_at_cluster(Warp warp, std::uint64_t generation, bool relaxed);
  void leave_cluster_barrier(Warp warp, std::uint64_t generation);
  /// A write tells what the warp knew at its last fence.
  void flag(Warp warp, std::uint64_t word, bool reads, bool writes);
  void fence(Warp warp);
  void proxy_fence(Warp warp);
  void release_maps(Warp warp);

  // Mbarriers, by the rank of their block and their offset in its shared memory.
  void initialise(std::uint32_t rank, std::uint32_t offset);
  void arrive(Warp warp, std::uint32_t rank, std::uint32_t offset);
  void end_phase(std::uint32_t rank, std::uint32_t offset);
  void observe_phases(Warp warp, std::uint32_t rank, std::uint32_t offset);
  /// Its number.
  std::uint32_t mbarrier(std::uint32_t rank, std::uint32_t offset);
  /// The phase that it is in.
  std::uint32_t phase(std::uint32_t mbarrier) const { return mbarriers_[mbarrier].phase; }
  bool knows_phase(Warp warp, std::uint32_t mbarrier, std::uint32_t phase) const {
    const auto& known = warps_known_[warp].phases;
    return mbarrier < known.size() && phase < known[mbarrier];
  }
  /// When the warp last learned of a phase of it, in its block's time.
  std::uint32_t learned_at(Warp warp, std::uint32_t mbarrier) const {
    const auto& times = learned_[warp];
    return mbarrier < times.size() ? times[mbarrier] : 0;
  }

 private:
  struct Mbarrier {
    std::uint32_t phase = 0;
    Knowledge arrived;  ///< of those who arrived in any phase up to this one
    Knowledge over;     ///< of those who arrived in phases that are over
  };
  /// All that the warp knows, and what it has done itself.
  Knowledge released(Warp warp);
  void acquire(Warp warp, const Knowledge& from);

  std::uint32_t warps_;
  std::vector<BlockOrder*> orders_;
  std::vector<Knowledge> warps_known_;
  std::vector<Knowledge> at_fence_;  ///< by warp: what it released at its last fence
  std::vector<std::vector<std::uint32_t>> learned_;  ///< by warp and mbarrier
  std::vector<Mbarrier> mbarriers_;
  std::unordered_map<std::uint64_t, std::uint32_t> mbarrier_at_;
  std::vector<Knowledge> named_;  ///< by rank and number of the barrier
  std::unordered_map<std::uint64_t, Knowledge> cluster_generations_, flags_;
};

}  // namespace tilescope::observe
