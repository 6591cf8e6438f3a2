#include "observe/check/block_order.hpp"

#include <algorithm>
#include <bit>

namespace tilescope::observe {
namespace {

/// Leaves room for two billion events in the block that begins.
constexpr std::uint32_t kLatestStart = 1u << 31;

void raise(WarpTimes& times, const WarpTimes& to) {
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = std::max(times[i], to[i]);
}

}  // namespace

BlockOrder::BlockOrder(std::uint32_t warps)
    : warps_(warps),
      known_(warps),
      latest_known_(warps),
      whole_warp_(warps),
      pairs_(warps),
      fenced_(warps),
      fenced_gpu_(warps),
      heard_(warps) {}

bool BlockOrder::begin_block() {
  const bool restart = time_ > kLatestStart;
  if (restart) {
    time_ = 0;
    for (WarpTimes& times : known_) times.fill(0);
    std::fill(latest_known_.begin(), latest_known_.end(), 0);
    std::fill(whole_warp_.begin(), whole_warp_.end(), 0);
    for (auto& pairs : pairs_) pairs.reset();
  }
  // Times of earlier blocks are below the epoch and no longer count.
  epoch_ = block_start_ = ++time_;
  fences_ = gpu_fences_ = relaxed_ = false;
  variables_.clear();
  for (auto& arrivals : arrivals_) arrivals.clear();
  return restart;
}

BlockOrder::Pairs& BlockOrder::pairs(std::uint32_t warp) {
  if (!pairs_[warp]) pairs_[warp] = std::make_unique<Pairs>();
  return *pairs_[warp];
}

/// Every lane now knows what any of the lanes knew, and all that they did so far.
void BlockOrder::order_lanes(std::uint32_t warp, emulator::LaneMask lanes) {
  latest_known_[warp] = time_;
  Pairs& table = pairs(warp);
  std::array<std::uint32_t, 32> joined{};
  for (emulator::LaneMask m = lanes; m != 0; m &= m - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(m));
    for (std::size_t i = 0; i < 32; ++i) joined[i] = std::max(joined[i], table[lane][i]);
  }
  for (emulator::LaneMask m = lanes; m != 0; m &= m - 1) {
    joined[static_cast<std::size_t>(std::countr_zero(m))] = time_;
  }
  for (emulator::LaneMask m = lanes; m != 0; m &= m - 1) {
    table[static_cast<std::size_t>(std::countr_zero(m))] = joined;
  }
}

void BlockOrder::warp_sync(std::uint32_t warp, emulator::LaneMask members,
                           emulator::LaneMask live) {
  ++time_;
  if ((live & ~members) == 0) {
    whole_warp_[warp] = time_;
  } else {
    order_lanes(warp, members & live);
  }
}

void BlockOrder::arrive(const emulator::BarrierArrival& arrival) {
  if (arrival.operation != emulator::BarrierOperation::arrive) return;
  ++time_;
  arrivals_[arrival.barrier].push_back({arrival.warp, time_, known_[arrival.warp]});
}

void BlockOrder::barrier(const emulator::BarrierCompletion& completion,
                         const emulator::BlockView& view) {
  std::array<emulator::LaneMask, kMostWarps> waited{};
  std::uint32_t came = 0;  // warps, one bit each
  bool all_wait = true;
  for (const emulator::BarrierArrival& arrival : completion.arrivals) {
    came |= 1u << arrival.warp;
    if (arrival.operation == emulator::BarrierOperation::arrive) {
      all_wait = false;
    } else {
      waited[arrival.warp] |= arrival.mask;
    }
  }
  ++time_;
  for (std::uint32_t w = 0; w < warps_; ++w) {
    if ((view.live(w) & ~waited[w]) != 0) all_wait = false;
  }
  if (relaxed_) {
    for (std::uint32_t w = 0; w < warps_; ++w) {
      if (waited[w] != 0) order_heard(w);
    }
  }
  if (fences_) join_fences(came);
  if (all_wait) {
    epoch_ = time_;
    return;
  }
  order_waiting(completion.barrier, waited, view);
}

/// A barrier of some threads orders what those that came to it did before what those do that
/// waited.
void BlockOrder::order_waiting(std::uint8_t barrier,
                               const std::array<emulator::LaneMask, kMostWarps>& waited,
                               const emulator::BlockView& view) {
  WarpTimes joined{};
  for (std::uint32_t w = 0; w < warps_; ++w) {
    if (waited[w] != 0) raise(joined, known_[w]);
  }
  for (const Arrival& arrival : arrivals_[barrier]) {
    raise(joined, arrival.known);
    joined[arrival.warp] = std::max(joined[arrival.warp], arrival.time);
  }
  arrivals_[barrier].clear();
  for (std::uint32_t w = 0; w < warps_; ++w) {
    if (waited[w] != 0) joined[w] = time_;
  }
  for (std::uint32_t w = 0; w < warps_; ++w) {
    if (waited[w] == 0) continue;
    const std::uint32_t own = known_[w][w];
    raise(known_[w], joined);
    latest_known_[w] = time_;
    known_[w][w] = own;
    if ((view.live(w) & ~waited[w]) == 0) {
      whole_warp_[w] = time_;
    } else {
      order_lanes(w, waited[w]);
    }
  }
}

void BlockOrder::join_fences(std::uint32_t warps) {
  WarpTimes all{}, gpu{};
  for (std::uint32_t m = warps; m != 0; m &= m - 1) {
    raise(all, fenced_[static_cast<std::size_t>(std::countr_zero(m))]);
    raise(gpu, fenced_gpu_[static_cast<std::size_t>(std::countr_zero(m))]);
  }
  for (std::uint32_t m = warps; m != 0; m &= m - 1) {
    fenced_[static_cast<std::size_t>(std::countr_zero(m))] = all;
    fenced_gpu_[static_cast<std::size_t>(std::countr_zero(m))] = gpu;
  }
}

void BlockOrder::fence(std::uint32_t warp, emulator::Scope scope) {
  if (!fences_) {
    for (WarpTimes& times : fenced_) times.fill(0);
    for (WarpTimes& times : fenced_gpu_) times.fill(0);
    fences_ = true;
  }
  if (relaxed_) order_heard(warp);
  const WarpTimes before = passed(warp);
  raise(fenced_[warp], before);
  if (scope != emulator::Scope::block) {
    gpu_fences_ = true;
    raise(fenced_gpu_[warp], before);
  }
}

WarpTimes BlockOrder::passed(std::uint32_t warp) {
  ++time_;
  WarpTimes before = known_[warp];
  for (std::uint32_t& t : before) t = std::max(t, epoch_);
  before[warp] = time_;
  return before;
}

void BlockOrder::release(std::uint32_t warp, std::uint64_t variable) {
  if (!fences_) return;
  const auto [found, fresh] = variables_.try_emplace(variable, fenced_[warp]);
  if (!fresh) raise(found->second, fenced_[warp]);
}

void BlockOrder::acquire(std::uint32_t warp, std::uint64_t variable, bool relaxed) {
  const auto found = variables_.find(variable);
  if (found == variables_.end()) return;
  if (relaxed && !relaxed_) {
    for (WarpTimes& times : heard_) times.fill(0);
    relaxed_ = true;
  }
  raise((relaxed ? heard_ : known_)[warp], found->second);
  latest_known_[warp] = time_;
  whole_warp_[warp] = std::max(whole_warp_[warp], found->second[warp]);
}

/// Orders the accesses that the warp has heard of before all that it does from now on.
void BlockOrder::order_heard(std::uint32_t warp) {
  raise(known_[warp], heard_[warp]);
  latest_known_[warp] = time_;
}

}  // namespace tilescope::observe
