#include "observe/check/async_order.hpp"

#include <algorithm>

namespace tilescope::observe {
namespace {

constexpr std::uint32_t kNamedBarriers = 16;

void raise(std::vector<std::uint32_t>& times, const std::vector<std::uint32_t>& to) {
  if (times.size() < to.size()) times.resize(to.size());
  for (std::size_t i = 0; i < to.size(); ++i) times[i] = std::max(times[i], to[i]);
}

std::uint64_t place_of(std::uint32_t rank, std::uint32_t offset) {
  return std::uint64_t{rank} << 32 | offset;
}

}  // namespace

void Knowledge::join(const Knowledge& other) {
  raise(threads, other.threads);
  raise(fenced, other.fenced);
  raise(phases, other.phases);
  raise(maps, other.maps);
}

AsyncOrder::AsyncOrder(std::uint32_t blocks, std::uint32_t warps_per_block)
    : warps_(warps_per_block),
      orders_(blocks),
      warps_known_(std::size_t{blocks} * warps_per_block),
      at_fence_(warps_known_.size()),
      learned_(warps_known_.size()),
      named_(std::size_t{blocks} * kNamedBarriers) {
  for (Knowledge& known : warps_known_) {
    known.threads.resize(warps_known_.size());
    known.fenced.resize(warps_known_.size());
  }
}

bool AsyncOrder::knows_of(Warp warp, std::uint32_t rank) const {
  if (rank_of(warp) == rank) return true;
  const auto first = warps_known_[warp].threads.begin() + rank * warps_;
  return std::any_of(first, first + warps_, [](std::uint32_t time) { return time != 0; });
}

bool AsyncOrder::block_knows(std::uint32_t rank, Warp other, std::uint32_t time) const {
  for (std::uint32_t w = 0; w < warps_; ++w) {
    if (knows(warp_of(rank, w), other, time)) return true;
  }
  return false;
}

Knowledge AsyncOrder::released(Warp warp) {
  Knowledge known = warps_known_[warp];
  known.threads[warp] = orders_[rank_of(warp)]->advance();
  return known;
}

void AsyncOrder::acquire(Warp warp, const Knowledge& from) {
  const auto& phases = warps_known_[warp].phases;
  auto& learned = learned_[warp];
  if (learned.size() < from.phases.size()) learned.resize(from.phases.size());
  for (std::size_t i = 0; i < from.phases.size(); ++i) {
    if (i >= phases.size() || phases[i] < from.phases[i]) learned[i] = time(warp);
  }
  warps_known_[warp].join(from);
}

void AsyncOrder::arrive(std::uint32_t rank, const emulator::BarrierArrival& arrival) {
  named_[rank * kNamedBarriers + arrival.barrier].join(released(warp_of(rank, arrival.warp)));
}

void AsyncOrder::complete(std::uint32_t rank, const emulator::BarrierCompletion& completion) {
  Knowledge& met = named_[rank * kNamedBarriers + completion.barrier];
  for (const emulator::BarrierArrival& arrival : completion.arrivals) {
    if (arrival.operation == emulator::BarrierOperation::arrive) continue;
    acquire(warp_of(rank, arrival.warp), met);
  }
  met = {};
}

void AsyncOrder::arrive_at_cluster(Warp warp, std::uint64_t generation, bool relaxed) {
  Knowledge& met = cluster_generations_[generation];
  if (!relaxed) {
    met.join(released(warp));
    return;
  }
  Knowledge lives = at_fence_[warp];
  lives.threads.resize(warps_known_.size());
  lives.threads[warp] = std::max(lives.threads[warp], start(rank_of(warp)));
  met.join(lives);
}

void AsyncOrder::leave_cluster_barrier(Warp warp, std::uint64_t generation) {
  acquire(warp, cluster_generations_[generation]);
}

void AsyncOrder::flag(Warp warp, std::uint64_t word, bool reads, bool writes) {
  Knowledge& at = flags_[word];
  if (reads) acquire(warp, at);
  if (writes) at.join(at_fence_[warp]);
}

void AsyncOrder::fence(Warp warp) {
  at_fence_[warp] = released(warp);
}

void AsyncOrder::proxy_fence(Warp warp) {
  Knowledge& known = warps_known_[warp];
  raise(known.fenced, released(warp).threads);
}

void AsyncOrder::release_maps(Warp warp) {
  raise(warps_known_[warp].maps, released(warp).threads);
}

std::uint32_t AsyncOrder::mbarrier(std::uint32_t rank, std::uint32_t offset) {
  const auto [found, fresh] = mbarrier_at_.try_emplace(
      place_of(rank, offset), static_cast<std::uint32_t>(mbarriers_.size()));
  if (fresh) mbarriers_.emplace_back();
  return found->second;
}

void AsyncOrder::initialise(std::uint32_t rank, std::uint32_t offset) {
  mbarrier_at_.erase(place_of(rank, offset));
  mbarrier(rank, offset);
}

void AsyncOrder::arrive(Warp warp, std::uint32_t rank, std::uint32_t offset) {
  const Knowledge known = released(warp);
  mbarriers_[mbarrier(rank, offset)].arrived.join(known);
}

void AsyncOrder::end_phase(std::uint32_t rank, std::uint32_t offset) {
  Mbarrier& ended = mbarriers_[mbarrier(rank, offset)];
  ++ended.phase;
  ended.over = ended.arrived;
}

void AsyncOrder::observe_phases(Warp warp, std::uint32_t rank, std::uint32_t offset) {
  const std::uint32_t number = mbarrier(rank, offset);
  Knowledge seen = mbarriers_[number].over;
  if (seen.phases.size() <= number) seen.phases.resize(number + 1);
  seen.phases[number] = std::max(seen.phases[number], mbarriers_[number].phase);
  acquire(warp, seen);
}

}  // namespace tilescope::observe
