// The barriers of a block: bar.sync, bar.arrive and bar.red, and what is over when lanes leave.
#include <algorithm>
#include <bit>

#include "emulator/block.hpp"

namespace tilescope::emulator {
namespace {

/// 1: a warp with live lanes, all of which have arrived; else 0.
std::uint32_t is_whole(LaneMask live, LaneMask arrived) {
  return live != 0 && (live & ~arrived) == 0 ? 1 : 0;
}

}  // namespace

void Block::reset_barriers() {
  for (; used_barriers_ != 0; used_barriers_ &= used_barriers_ - 1) {
    BlockBarrier& barrier = barriers_[static_cast<std::size_t>(std::countr_zero(used_barriers_))];
    barrier.arrivals.clear();
    std::fill(barrier.arrived.begin(), barrier.arrived.end(), 0);
    barrier.generation = 0;
    barrier.expected = barrier.again = barrier.true_lanes = barrier.votes = barrier.whole = 0;
  }
  open_barriers_ = 0;
}

void Block::arrive_barrier(const BarrierArrival& arrival, std::uint32_t true_lanes) {
  BlockBarrier& barrier = barriers_[arrival.barrier];
  const std::uint32_t bit = 1u << arrival.barrier;
  if ((open_barriers_ & bit) == 0) barrier.expected = arrival.expected_threads;
  used_barriers_ |= bit;
  open_barriers_ |= bit;
  LaneMask& arrived = barrier.arrived[arrival.warp];
  barrier.again += threads_of(arrival.warp, arrived & arrival.mask);
  const LaneMask live = warps_[arrival.warp].live();
  barrier.whole += is_whole(live, arrived | arrival.mask) - is_whole(live, arrived);
  arrived |= arrival.mask;
  if (arrival.operation == BarrierOperation::reduce) {
    barrier.true_lanes += true_lanes;
    barrier.votes += static_cast<std::uint32_t>(std::popcount(arrival.mask));
  }
  if ((worker_.context.events & kOrder) != 0) {
    BarrierArrival entry = arrival;
    entry.generation = barrier.generation;
    barrier.arrivals.push_back(entry);
    for (const auto& slot : observers_) {
      if ((slot.events & kOrder) != 0) slot.observer->barrier_arrival(entry);
    }
  }
  if (barrier_complete(barrier)) complete_barrier(arrival.barrier);
}

/// Lanes of a warp as barriers count them: a warp whose live lanes are all there counts as a whole.
std::uint32_t Block::threads_of(std::uint32_t warp, LaneMask lanes) const {
  if (lanes == 0) return 0;
  return (warps_[warp].live() & ~lanes) == 0 ? kWarpSize : lane_count(lanes);
}

/// Without a count the barrier waits for every thread that has not left. With one, it waits for
/// that many arrivals, whoever makes them.
bool Block::barrier_complete(const BlockBarrier& barrier) const {
  if (barrier.expected == 0) return barrier.whole == live_warps_;
  std::uint32_t threads = barrier.again;
  for (const Warp& warp : warps_)
    threads += threads_of(warp.index(), barrier.arrived[warp.index()]);
  return threads >= barrier.expected;
}

void Block::complete_barrier(std::uint8_t number) {
  BlockBarrier& barrier = barriers_[number];
  ++completions_;
  std::vector<LaneMask> exited;
  const bool observed = (worker_.context.events & kOrder) != 0;
  if (observed) {
    for (const Warp& warp : warps_) {
      exited.push_back(warp.existing() & ~warp.live() & ~barrier.arrived[warp.index()]);
    }
    const BarrierCompletion event{number, barrier.generation, barrier.arrivals, exited};
    for (const auto& slot : observers_) {
      if ((slot.events & kOrder) != 0) slot.observer->barrier_completion(event);
    }
  }
  for (Warp& warp : warps_) {
    if (barrier.arrived[warp.index()] == 0) continue;
    for (Path& path : warp.paths()) {
      if (path.state != PathState::barrier || path.barrier != number) continue;
      path.state = PathState::ready;
      const Code& code = *path.waiting_at;
      if (static_cast<BarrierOperation>(code.access) != BarrierOperation::reduce) continue;
      write_barrier_result(code, path, barrier);
    }
  }
  open_barriers_ &= ~(1u << number);
  barrier.arrivals.clear();
  std::fill(barrier.arrived.begin(), barrier.arrived.end(), 0);
  ++barrier.generation;
  barrier.expected = barrier.again = barrier.true_lanes = barrier.votes = barrier.whole = 0;
}

void Block::pass_barrier(std::uint8_t number, std::uint64_t completions, std::uint32_t waiting) {
  BlockBarrier& barrier = barriers_[number];
  const std::uint32_t bit = 1u << number;
  used_barriers_ |= bit;
  open_barriers_ = waiting != 0 ? open_barriers_ | bit : open_barriers_ & ~bit;
  completions_ += completions;
  barrier.generation += completions;
  for (std::size_t i = 0; i < warps_.size(); ++i) {
    barrier.arrived[i] = (waiting >> i & 1) != 0 ? kAllLanes : 0;
  }
  barrier.whole = static_cast<std::uint32_t>(std::popcount(waiting));
}

/// aux of bar.red is the ptx::ReduceOp.
void Block::write_barrier_result(const Code& code, const Path& path, const BlockBarrier& barrier) {
  const auto operation = static_cast<ptx::ReduceOp>(code.aux);
  std::uint8_t* at = path.frame->registers + code.dst;
  if (operation == ptx::ReduceOp::popc) {
    auto* lanes = reinterpret_cast<std::uint32_t*>(at);
    for (LaneMask m = path.mask; m != 0; m &= m - 1) {
      lanes[std::countr_zero(m)] = barrier.true_lanes;
    }
    return;
  }
  const bool holds = operation == ptx::ReduceOp::and_ ? barrier.true_lanes == barrier.votes
                                                      : barrier.true_lanes != 0;
  auto& bits = *reinterpret_cast<std::uint32_t*>(at);
  bits = (bits & ~path.mask) | (holds ? path.mask : 0);
}

/// Lanes have left: barriers do not wait for them any more.
void Block::leave_barriers(std::uint32_t warp, LaneMask mask) {
  const LaneMask live = warps_[warp].live();
  const std::uint32_t open = open_barriers_;
  for (std::uint32_t rest = open; rest != 0; rest &= rest - 1) {
    BlockBarrier& barrier = barriers_[static_cast<std::size_t>(std::countr_zero(rest))];
    const LaneMask arrived = barrier.arrived[warp];
    barrier.whole += is_whole(live, arrived) - is_whole(live | mask, arrived);
  }
  for (std::uint32_t rest = open; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<std::uint8_t>(std::countr_zero(rest));
    if (barrier_complete(barriers_[i])) complete_barrier(i);
  }
}

}  // namespace tilescope::emulator
