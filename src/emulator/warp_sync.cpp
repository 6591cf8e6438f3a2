// Places where lanes wait for each other: barriers of the block, and warp instructions with member
// masks.
#include <algorithm>
#include <bit>

#include "emulator/block.hpp"
#include "emulator/launch_state.hpp"
#include "emulator/stall.hpp"
#include "emulator/warp.hpp"

namespace tilescope::emulator {
namespace {

/// Those of `lanes` that name the same members.
LaneMask lanes_naming(LaneMask members, const std::uint32_t* named, LaneMask lanes) {
  LaneMask group = 0;
  for (LaneMask m = lanes; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    if (named[lane] == members) group |= LaneMask{1} << lane;
  }
  return group;
}

}  // namespace

void Warp::report(FaultKind kind, InstructionId id, LaneMask lanes, std::uint64_t number) {
  block_->report({.kind = kind,
                  .instruction = id,
                  .warp = index_,
                  .lanes = lanes,
                  .space = Space::shared,
                  .access = AccessKind::load,
                  .bytes = 0,
                  .address = number,
                  .object = {},
                  .object_bytes = 0,
                  .distance = 0,
                  .addresses = nullptr});
}

/// The lanes `mask` of the current path reach a barrier. True when they need not wait.
bool Warp::barrier(Worker& worker, const CodeBlock& block, const Code& code, LaneMask mask) {
  Context& w = worker.context;
  if (mask != paths_[current_].mask) part(mask, block.next);
  const int first = std::countr_zero(mask);
  const std::uint32_t number = r32(w, code.a)[first];
  const std::uint32_t threads = code.b == kNone ? 0 : r32(w, code.b)[first];
  Path& path = paths_[current_];
  path.block = block.next;
  if (number > 15 || (code.b != kNone && (threads == 0 || threads % kWarpSize != 0))) {
    report(FaultKind::bad_barrier, code.id, mask, number > 15 ? number : threads);
    return true;
  }
  const auto operation = static_cast<BarrierOperation>(code.access);
  spins_ = 0;
  std::uint32_t true_lanes = 0;
  if (operation == BarrierOperation::reduce) {
    true_lanes =
        static_cast<std::uint32_t>(std::popcount(mask & (predicate(w, code.c) ^ code.c_flip)));
  }
  if (operation != BarrierOperation::arrive) {
    path.state = PathState::barrier;
    path.barrier = static_cast<std::uint8_t>(number);
    path.waiting_at = &code;
  }
  block_->arrive_barrier(
      {code.id, index_, mask, static_cast<std::uint8_t>(number), operation, threads, 0},
      true_lanes);
  return paths_[current_].state == PathState::ready;
}

/// The lanes `mask` of the current path reach the barrier of the cluster, to arrive or to wait.
/// True when they need not wait.
bool Warp::cluster_barrier(const CodeBlock& block, const Code& code, LaneMask mask) {
  part(mask, block.next);
  Path& path = paths_[current_];
  path.block = block.next;
  spins_ = 0;
  if (static_cast<BarrierOperation>(code.access) == BarrierOperation::arrive) {
    block_->arrive_at_cluster(code, index_, mask);
    return true;
  }
  const LaneMask waiting = block_->wait_for_cluster(code, index_, mask);
  if (waiting == 0) return true;
  Path waiter = path;
  waiter.mask = waiting;
  waiter.state = PathState::cluster;
  waiter.waiting_at = &code;
  if (waiting == mask) {
    path = waiter;
    return false;
  }
  path.mask &= ~waiting;
  paths_.push_back(waiter);
  return true;
}

/// The lanes `mask` of the current path reach wgmma.wait_group. True when they need not wait.
bool Warp::product_wait(const CodeBlock& block, const Code& code, LaneMask mask) {
  part(mask, block.next);
  Path& path = paths_[current_];
  path.block = block.next;
  path.waiting_at = &code;
  spins_ = 0;
  if (mask != live_) block_->report_warpgroup(index_, code.id, live_ & ~mask);
  if (!block_->products_issued(index_, code)) {
    path.state = PathState::products;
    return false;
  }
  block_->announce_product_wait(index_, code, mask);
  return true;
}

/// Copies the lanes' contributions into the exchange.
void Warp::exchange(Worker& worker, const Code& code, LaneMask mask, const Frame& frame) {
  Context& w = worker.context;
  bind(worker, frame);
  if (code.bytes == 0) {  // a predicate
    const std::uint32_t p = predicate(w, code.a) ^ code.a_flip;
    for (int l = 0; l < kWarpSize; ++l) {
      if ((mask >> l & 1) != 0) w.exchange[l] = p >> l & 1;
    }
  } else if (code.bytes == 8) {
    const std::uint64_t* a = r64(w, code.a);
    for (int l = 0; l < kWarpSize; ++l) w.exchange[l] = (mask >> l & 1) != 0 ? a[l] : w.exchange[l];
  } else {
    const std::uint32_t* a = r32(w, code.a);
    for (int l = 0; l < kWarpSize; ++l) w.exchange[l] = (mask >> l & 1) != 0 ? a[l] : w.exchange[l];
  }
}

/// Tells the observers of order that lanes of the warp meet.
void Warp::announce_sync(const Code& code, LaneMask mask, LaneMask members) {
  const WarpSync event{code.id, index_, static_cast<WarpOperation>(code.access), members, mask};
  for (const auto& slot : block_->observers()) {
    if ((slot.events & kOrder) != 0) slot.observer->warp_sync(event);
  }
}

void Warp::run_collective(Worker& worker, const Code& code, const Frame& frame, LaneMask mask,
                          LaneMask members) {
  Context& w = worker.context;
  if ((w.events & kOrder) != 0) announce_sync(code, mask, members);
  bind(worker, frame);
  w.mask = mask;
  w.members = members;
  code.execute(w, code);
}

void Warp::run_together(Worker& worker, const Code& code) {
  const Frame& frame = *paths_[current_].frame;
  exchange(worker, code, kAllLanes, frame);
  worker.context.exchange_lanes = kAllLanes;
  run_collective(worker, code, frame, kAllLanes, kAllLanes);
}

/// The lanes `mask` of the current path run a warp instruction. True when they need not wait.
bool Warp::collective(Worker& worker, const CodeBlock& block, const Code& code, LaneMask mask) {
  Context& w = worker.context;
  const std::uint32_t* named = code.c == kNone ? nullptr : r32(w, code.c);
  LaneMask waiting = 0;
  for (LaneMask rest = mask; rest != 0;) {
    const int first = std::countr_zero(rest);
    const LaneMask members = named != nullptr ? named[first] : mask;
    const LaneMask group = named == nullptr ? rest : lanes_naming(members, named, rest);
    rest &= ~group;
    if (const LaneMask strangers = group & ~members; strangers != 0) {
      report(FaultKind::not_a_member, code.id, strangers, members);
    }
    if ((members & live_ & ~group) == 0) {
      const Frame& frame = *paths_[current_].frame;
      exchange(worker, code, group, frame);
      w.exchange_lanes = group;
      run_collective(worker, code, frame, group, members);
    } else {
      waiting |= group;
    }
  }
  // Lanes whose guard was off continue, and so do the served ones.
  Path& path = paths_[current_];
  path.block = block.next;
  if (waiting == 0) return true;
  for (LaneMask rest = waiting; rest != 0;) {
    const LaneMask members = named[std::countr_zero(rest)];
    const LaneMask group = lanes_naming(members, named, rest);
    rest &= ~group;
    Path waiter = paths_[current_];
    waiter.mask = group;
    waiter.state = PathState::collective;
    waiter.waiting_at = &code;
    waiter.members = members;
    if (group == paths_[current_].mask) {
      paths_[current_] = waiter;
    } else {
      paths_[current_].mask &= ~group;
      paths_.push_back(waiter);
    }
    try_collective(worker, members, false);
  }
  return current_ < paths_.size() && paths_[current_].state == PathState::ready;
}

/// The lanes that wait with this member mask and are to be served together. They may have met at
/// different instructions; lanes that went ahead count only where the others wait.
LaneMask Warp::gathered(LaneMask members) const {
  LaneMask lanes = 0;
  const auto waits = [&](const Path& path) {
    return path.state == PathState::collective && path.members == members;
  };
  const bool all_ahead = std::all_of(paths_.begin(), paths_.end(),
                                     [&](const Path& path) { return path.ahead || !waits(path); });
  for (const Path& path : paths_) {
    if (!waits(path)) continue;
    const bool counts =
        all_ahead || !path.ahead ||
        std::any_of(paths_.begin(), paths_.end(), [&](const Path& other) {
          return waits(other) && !other.ahead && other.waiting_at == path.waiting_at;
        });
    if (counts) lanes |= path.mask;
  }
  return lanes;
}

/// Serves the paths that wait with this member mask if they are all that can come (or with
/// `force`).
bool Warp::try_collective(Worker& worker, LaneMask members, bool force) {
  Context& w = worker.context;
  const LaneMask there = gathered(members);
  const LaneMask absent = members & live_ & ~there;
  if (absent != 0 && !force) return false;
  const auto served = [&](const Path& path) {
    return path.state == PathState::collective && path.members == members &&
           (path.mask & there) != 0;
  };
  const std::uint8_t* const frame_before = w.frame;
  for (const Path& path : paths_) {
    if (served(path)) exchange(worker, *path.waiting_at, path.mask, *path.frame);
  }
  w.exchange_lanes = there;
  for (Path& path : paths_) {
    if (!served(path)) continue;
    run_collective(worker, *path.waiting_at, *path.frame, path.mask, members);
    path.state = PathState::ready;
    path.ahead = false;
  }
  w.frame = const_cast<std::uint8_t*>(frame_before);
  merge_paths();
  return true;
}

/// Paths at the same place with the same future become one path.
void Warp::merge_paths() {
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    if (paths_[i].state != PathState::ready) continue;
    for (std::size_t j = i + 1; j < paths_.size();) {
      const Path& a = paths_[i];
      const Path& b = paths_[j];
      if (b.state != PathState::ready || a.block != b.block || a.frame != b.frame ||
          a.join != b.join) {
        ++j;
        continue;
      }
      paths_[i].mask |= b.mask;
      paths_.erase(paths_.begin() + static_cast<std::ptrdiff_t>(j));
      if (current_ == j) {
        current_ = i;
      } else if (current_ > j && current_ != paths_.size() + 1) {
        --current_;
      }
    }
  }
}

bool Warp::release_named() {
  LaneMask named = 0;
  for (const Path& path : paths()) {
    if (path.state == PathState::collective) named |= path.members;
  }
  if (!break_join(named)) return false;
  paths_.back().ahead = true;
  return true;
}

bool Warp::force_collective(Worker& worker) {
  for (const Path& path : paths()) {
    if (path.state != PathState::collective) continue;
    const LaneMask members = path.members;
    const LaneMask there = gathered(members);
    if ((path.mask & there) == 0) continue;
    report(FaultKind::absent_lanes, path.waiting_at->id, members & live_ & ~there, members);
    worker.context.warp = this;
    worker.context.warp_index = index_;
    try_collective(worker, members, true);
    return true;
  }
  return false;
}

void Warp::list_stuck(std::vector<StuckLanes>& stuck) const {
  LaneMask listed = 0;
  for (const Path& path : paths()) {
    listed |= path.mask;
    if (path.state == PathState::products) continue;  // reported by itself
    if (path.state == PathState::ready) {
      stuck.push_back(spinning_lanes(index_, path));
      continue;
    }
    const StuckReason reason = path.state == PathState::barrier   ? StuckReason::barrier
                               : path.state == PathState::cluster ? StuckReason::cluster
                                                                  : StuckReason::warp_sync;
    stuck.push_back({index_, path.mask, path.waiting_at->id, reason, path.barrier});
  }
  for (const Path& path : paths()) {
    for (const Join* join = path.join; join != nullptr; join = join->parent) {
      const LaneMask mask = join->arrived & ~listed;
      if (mask == 0) continue;
      listed |= mask;
      const CodeFunction& function = *join->frame->function;
      const CodeBlock& block = function.blocks[join->resume];
      stuck.push_back({index_, mask, function.code[block.begin].id, StuckReason::reconvergence, 0});
    }
  }
}

}  // namespace tilescope::emulator
