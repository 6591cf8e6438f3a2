// Events of engines and barriers, as the order of a cluster takes them.
#include <algorithm>
#include <bit>

#include "base/one_of.hpp"
#include "observe/check/async_checks.hpp"
#include "observe/check/race_checker.hpp"

namespace tilescope::observe {
namespace {

constexpr std::uint32_t kGranule = Granule::kBytes;
constexpr unsigned kRankShift = 40;  ///< above the offsets of shared memory

std::uint64_t serial_key(std::uint32_t rank, std::uint64_t serial) {
  return std::uint64_t{rank} << 48 | serial;
}

bool ends_in_shared(emulator::BulkKind kind) {
  return kind != emulator::BulkKind::store;
}

bool starts_in_shared(emulator::BulkKind kind) {
  return kind == emulator::BulkKind::store || kind == emulator::BulkKind::exchange;
}

EngineKind engine_of(const emulator::BulkEvent& event) {
  if (event.kind == emulator::BulkKind::registers) return EngineKind::remote_store;
  return event.map != 0 ? EngineKind::tensor_copy : EngineKind::bulk_copy;
}

}  // namespace

void AsyncChecks::flag(std::uint32_t by, const emulator::Access& access, std::uint32_t rank) {
  const AccessVerb verb = verb_of(access.kind);
  for (emulator::LaneMask m = access.mask; m != 0; m &= m - 1) {
    std::uint64_t word = word_at(access.space, access.addresses[std::countr_zero(m)]);
    if (access.space == emulator::Space::shared) word |= std::uint64_t{rank} << kRankShift;
    order_.flag(order_.warp_of(by, access.warp), word, verb != AccessVerb::write,
                verb != AccessVerb::read);
  }
}

void AsyncChecks::cluster_barrier(std::uint32_t by, const emulator::ClusterBarrier& barrier,
                                  bool relaxed) {
  const Warp warp = order_.warp_of(by, barrier.warp);
  if (barrier.waited) {
    order_.leave_cluster_barrier(warp, barrier.generation);
  } else {
    order_.arrive_at_cluster(warp, barrier.generation, relaxed);
  }
}

void AsyncChecks::proxy_fence(std::uint32_t by, const emulator::ProxyFence& fence) {
  const Warp warp = order_.warp_of(by, fence.warp);
  order_.fence(warp);
  if (fence.kind == emulator::ProxyFenceKind::async) order_.proxy_fence(warp);
  map_fence(warp, fence);
}

void AsyncChecks::mbarrier(std::uint32_t rank, const emulator::MbarrierUse& use) {
  using enum emulator::MbarrierAction;
  const Warp warp = order_.warp_of(use.origin.rank, use.origin.warp);
  switch (use.action) {
    case init:
      order_.initialise(rank, use.offset);
      return;
    case arrive:
    case drop: {
      // The lanes of one instruction arrive as one.
      const std::uint32_t barrier = order_.mbarrier(rank, use.offset);
      const emulator::BulkOrigin& last = last_arrival_;
      const bool same = last.instruction == use.origin.instruction && arrived_at_ == barrier &&
                        last.rank == use.origin.rank && last.warp == use.origin.warp &&
                        last.lane < use.origin.lane && !ended_phase_;
      if (!same) order_.arrive(warp, rank, use.offset);
      last_arrival_ = use.origin;
      arrived_at_ = barrier;
      ended_phase_ = use.ends_phase();
      break;
    }
    case test:
      if (use.passed) order_.observe_phases(warp, rank, use.offset);
      return;
    default:
      break;
  }
  if (use.ends_phase()) order_.end_phase(rank, use.offset);
}

void AsyncChecks::issued(std::uint32_t by, const emulator::BulkEvent& event) {
  if (event.kind == emulator::BulkKind::prefetch) return;
  const Warp warp = order_.warp_of(by, event.origin.warp);
  EngineWork started;
  started.engine = engine_of(event);
  started.instruction = event.origin.instruction;
  started.warp = warp;
  started.lane = event.origin.lane;
  started.bytes = event.bytes;
  started.map = event.map;
  started.target = ends_in_shared(event.kind) ? event.target : by;
  started.issued = order_.time(warp);
  const bool on_mbarrier = event.barrier != kNoMbarrier;
  if (on_mbarrier) {
    started.mbarrier = order_.mbarrier(event.target, event.barrier);
    started.offset = event.barrier;
    started.issuer_knows = order_.of(warp).threads;
    started.issuer_knows[warp] = members_[by].order->advance();
  }
  const WorkId id = add(std::move(started));
  if (on_mbarrier) {
    by_serial_[serial_key(event.target, event.serial)] = id;
  } else {
    LaneWork& lane = bulk_lane(warp, event.origin.lane);
    work(id).group = lane.committed;
    lane.open.push_back(id);
  }
  if (on_mbarrier) {
    check_started(warp, event.target, side_of(work(id), ThreadAction::write), event.barrier);
  }
  if (event.map != 0) use_map(id);
  for (const emulator::BulkPiece& piece : event.pieces) {
    if (starts_in_shared(event.kind) && !piece.filled) {
      engine_reads(id, by, piece.from, piece.bytes);
    }
    if (event.kind == emulator::BulkKind::store) store_to_global(id, piece.to, piece.bytes);
    if (event.kind == emulator::BulkKind::load && !piece.filled) {
      load_from_global(id, piece.from, piece.bytes);
    }
    if (!ends_in_shared(event.kind)) continue;
    members_[event.target].contents->set(piece.to, piece.bytes);
    if (event.reduces) continue;
    if (event.kind == emulator::BulkKind::registers) {
      for (std::uint32_t i = 0; i < piece.bytes; i += 4) {
        shadows_[event.target].words()[piece.to + i] = id;
      }
    } else {
      engine_writes(id, event.target, piece.to, piece.bytes);
    }
  }
}

void AsyncChecks::done(std::uint32_t rank, const emulator::BulkEvent& event) {
  const auto found = by_serial_.find(serial_key(rank, event.serial));
  if (event.barrier == kNoMbarrier || found == by_serial_.end()) return;
  EngineWork& finished = work(found->second);
  finished.done = true;
  finished.phase = order_.phase(finished.mbarrier);
  by_serial_.erase(found);
}

AsyncChecks::LaneWork& AsyncChecks::bulk_lane(Warp warp, int lane) {
  return bulk_lanes_[std::uint64_t{warp} * emulator::kWarpSize + static_cast<std::uint64_t>(lane)];
}

void AsyncChecks::bulk_group(std::uint32_t by, const emulator::BulkGroup& group) {
  const Warp warp = order_.warp_of(by, group.warp);
  for (emulator::LaneMask m = group.mask; m != 0; m &= m - 1) {
    const auto found = bulk_lanes_.find(std::uint64_t{warp} * emulator::kWarpSize +
                                        static_cast<std::uint64_t>(std::countr_zero(m)));
    if (found == bulk_lanes_.end()) continue;
    LaneWork& lane = found->second;
    if (group.pending < 0) {
      for (const WorkId id : lane.open) work(id).committed = true;
      ++lane.committed;
    } else {
      finish_groups(lane, static_cast<std::uint64_t>(group.pending), order_.time(warp), group.read);
    }
  }
}

/// The thread knows now that all but its `pending` youngest groups are done; with `read` that they
/// have read their sources.
void AsyncChecks::finish_groups(LaneWork& lane, std::uint64_t pending, std::uint32_t time,
                                bool read) {
  const auto is_due = [&](const EngineWork& of) {
    return of.committed && of.group + pending < lane.committed;
  };
  std::erase_if(lane.open, [&](WorkId id) {
    EngineWork& of = work(id);
    if (!is_due(of)) return false;
    of.done = true;
    of.ended = time;
    lane.read.push_back(id);
    return true;
  });
  if (read) return;
  std::erase_if(lane.read, [&](WorkId id) {
    if (!is_due(work(id))) return false;
    work(id).written = time;
    return true;
  });
}

void AsyncChecks::product(std::uint32_t by, const emulator::MatrixIssue& issue) {
  const Warp warp = order_.warp_of(by, issue.warp);
  LaneWork& lane = products_[warp];
  if (lane.forming == kNoWork) {
    EngineWork started;
    started.engine = EngineKind::tensor_cores;
    started.instruction = issue.instruction;
    started.warp = warp;
    started.lane = std::countr_zero(issue.mask);
    started.bytes = static_cast<std::uint32_t>(issue.a.size() + issue.b.size()) * kGranule;
    started.issued = order_.time(warp);
    started.group = lane.committed;
    lane.forming = add(std::move(started));
    lane.open.push_back(lane.forming);
  }
  if (!lane.fenced) {
    AsyncMistake found =
        mistake(FindingKind::wgmma_order, AsyncFault::fence, work(lane.forming), false, 0);
    found.first.instruction = issue.instruction;
    found.address.reset();
    log_.add(found);
    lane.fenced = true;  // once is enough
  }
  for (const std::uint32_t piece : issue.a) engine_reads(lane.forming, by, piece, kGranule);
  for (const std::uint32_t piece : issue.b) engine_reads(lane.forming, by, piece, kGranule);
}

void AsyncChecks::matrix_order(std::uint32_t by, const emulator::MatrixOrder& order) {
  const Warp warp = order_.warp_of(by, order.warp);
  LaneWork& lane = products_[warp];
  switch (order.ordering) {
    case emulator::MatrixOrdering::fence:
      lane.fenced = true;
      return;
    case emulator::MatrixOrdering::commit:
      if (lane.forming != kNoWork) work(lane.forming).committed = true;
      lane.forming = kNoWork;
      ++lane.committed;
      return;
    case emulator::MatrixOrdering::wait:
      finish_groups(lane, order.pending, order_.time(warp), false);
      finish_products(warp, order.pending);
      return;
  }
}

void AsyncChecks::finish_products(Warp warp, std::uint64_t pending) {
  const std::uint64_t committed = products_[warp].committed;
  const std::uint32_t index = order_.index_of(warp) % kWarpsPerGroup;
  auto& ends = product_ends_[warp - index];
  if (ends.size() < committed) ends.resize(committed);
  for (std::uint64_t group = committed - std::min(pending, committed); group-- > 0;) {
    if (ends[group][index] != 0) return;
    ends[group][index] = order_.time(warp);
  }
}

// --- a launch
// -----------------------------------------------------------------------------------------

bool AsyncLaunch::concerns(const emulator::LaunchInfo& launch) {
  if (launch.cluster.count() > 1) return true;
  const auto instructions = launch.program.instructions();
  return std::any_of(instructions.begin(), instructions.end(), [](const auto& instruction) {
    return is_one_of(ptx::info(instruction.source->opcode).engine,
                     {ptx::EngineRole::bulk, ptx::EngineRole::product});
  });
}

AsyncLaunch::AsyncLaunch(const emulator::LaunchInfo& launch) : launch_(launch) {
  for (const emulator::InstructionInfo& instruction : launch.program.instructions()) {
    on_mbarriers_.push_back(ptx::info(instruction.source->opcode).engine ==
                            ptx::EngineRole::mbarrier);
  }
}

std::shared_ptr<AsyncChecks> AsyncLaunch::enter(std::uint64_t cluster, std::uint32_t rank,
                                                const AsyncMember& member) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<AsyncChecks> checks = clusters_[cluster].lock();
  if (checks == nullptr) {
    checks = std::make_shared<AsyncChecks>(launch_);
    clusters_[cluster] = checks;
  }
  checks->enter(rank, member);
  return checks;
}

void AsyncLaunch::leave(std::uint64_t cluster, std::shared_ptr<AsyncChecks>& checks) {
  const std::lock_guard lock(mutex_);
  if (checks.use_count() == 1) {
    log_.merge(checks->log());
    clusters_.erase(cluster);
  }
  checks.reset();
}

}  // namespace tilescope::observe
