#include "observe/check/check_block.hpp"

#include <algorithm>
#include <bit>

namespace tilescope::observe {
namespace {

using emulator::Access;
using emulator::AccessKind;
using emulator::LaneMask;

/// The lanes with which a warp begins.
LaneMask initial_lanes(const emulator::LaunchInfo& launch, std::uint32_t warp) {
  const std::uint32_t threads = launch.threads_per_block - warp * emulator::kWarpSize;
  return threads >= emulator::kWarpSize ? ~LaneMask{0} : (LaneMask{1} << threads) - 1;
}

}  // namespace

LaunchChecks::LaunchChecks(const emulator::LaunchInfo& launch, Stretches written_before,
                           FoundSoFar& found_so_far)
    : info(launch),
      before(std::move(written_before)),
      describer(info),
      places(launch.program),
      values(launch.program),
      roles(access_roles(launch.program)),
      summary(launch.memory, launch.program, roles),
      found(found_so_far),
      all_initialised(launch.memory.all_initialised()),
      protocols(info, before) {
  fences_blocks = orders_blocks(launch.program);
  polls = polls_flags(launch.program, roles);
  if (fences_blocks || polls) grid_order.emplace(launch.program, values, roles);
  if (AsyncLaunch::concerns(launch)) async.emplace(info);
  for (const emulator::InstructionInfo& instruction : launch.program.instructions()) {
    read_rules.push_back(read_rule(*instruction.source));
    const ptx::Ordering ordering = instruction.source->modifiers.ordering;
    synchronises = synchronises || polls || ptx::info(instruction.source->opcode).releases ||
                   ordering == ptx::Ordering::release || ordering == ptx::Ordering::acq_rel ||
                   ordering == ptx::Ordering::sc;
  }
}

bool LaunchChecks::only_stores(const Access& access) const {
  return access.kind == AccessKind::reduction &&
         info.program.instruction(access.instruction).source->modifiers.reduce ==
             ptx::ReduceOp::exch;
}

CheckBlock::CheckBlock(LaunchChecks& launch)
    : launch_(launch),
      order_(launch.info.warps_per_block),
      races_(order_, launch.values, launch.roles),
      local_contents_(launch.info.warps_per_block),
      cells_(2 * launch.info.program.instructions().size()),
      found_last_(launch.info.program.instructions().size()),
      copies_(launch.info.warps_per_block),
      protocols_(launch.info, launch.before) {
  shared_.resize(launch.info.shared_bytes);
}

void CheckBlock::begin_block(const emulator::BlockInfo& block, const emulator::BlockView& view) {
  block_ = block.linear;
  cluster_ = block.cluster;
  rank_ = block.rank;
  neighbour_words_.clear();
  view_ = &view;
  if (order_.begin_block()) {
    shared_.resize(launch_.info.shared_bytes);
    global_.reset();
  }
  races_.begin_block(block_);
  protocols_.begin_block(block);
  escapes_.clear();
  shared_contents_.reset(launch_.info.shared_bytes);
  ++blocks_seen_;
  if (launch_.async) {
    async_ = launch_.async->enter(cluster_, rank_,
                                  {&order_, &shared_, &global_, &shared_contents_, block_});
  }
}

void CheckBlock::end_block(bool complete) {
  protocols_.end_block(complete);
  if (async_) {
    async_->leave(rank_, complete);
    launch_.async->leave(cluster_, async_);
  }
  for (std::uint32_t w = 0; has_copied_ && w < copies_.size(); ++w) {
    for (const Copy& copy : copies_[w].pending) {
      races_.finish_copy(copy.address, copy.bytes, w, copy.lane, shared_);
    }
    copies_[w] = {};
  }
  has_copied_ = false;
  pending_reads_.finish(block_, undefined_);
  launch_.summary.add(block_, global_, lone_stores_, order_.block_start());
  lone_stores_.clear();
  const bool kept = launch_.children.end_block(block_, global_, order_.block_start());
  overflowed_ = overflowed_ || global_.overflowed() || !kept;
  global_.clear();
  if (launch_.grid_order) launch_.grid_order->end_block(block_);
  note_found();
  view_ = nullptr;
}

void CheckBlock::barrier_arrival(const emulator::BarrierArrival& arrival) {
  emulator::BarrierArrival counted = arrival;  // all threads of the block may be named by none
  if (arrival.expected_threads == 0) {
    counted.expected_threads = launch_.info.warps_per_block * emulator::kWarpSize;
  }
  protocols_.named.arrive(counted);
  order_.arrive(arrival);
  if (async_) async_->order().arrive(rank_, arrival);
}

void CheckBlock::barrier_completion(const emulator::BarrierCompletion& completion) {
  protocols_.named.complete(completion);
  protocols_.grid.meet();
  if (completion.arrivals.empty()) return;
  faults_.barrier(completion, block_, launch_.places);
  order_.barrier(completion, *view_);
  if (async_) async_->order().complete(rank_, completion);
  if (launch_.grid_order) launch_.grid_order->barrier(block_);
  note_found();
}

void CheckBlock::note_found() {
  const std::size_t now = faults_.size() + races_.log().races().size();
  if (now == noted_) return;
  noted_ = now;
  launch_.found.add(faults_, races_.log(), launch_.places);
}

void CheckBlock::warp_sync(const emulator::WarpSync& sync) {
  const LaneMask live = view_->live(sync.warp);
  if (const LaneMask exited = initial_lanes(launch_.info, sync.warp) & ~live; exited != 0) {
    faults_.warp_sync(sync, exited, block_);
  }
  order_.warp_sync(sync.warp, sync.members | sync.arrived, live);
}

void CheckBlock::fence(const emulator::Fence& fence) {
  this->fence(fence.warp, fence.scope);
}

void CheckBlock::fence(std::uint32_t warp, emulator::Scope scope) {
  order_.fence(warp, scope);
  if (async_) async_->order().fence(async_->order().warp_of(rank_, warp));
  if (launch_.grid_order && scope != emulator::Scope::block) launch_.grid_order->fence(block_);
}

void CheckBlock::frame_entry(const emulator::FrameEntry& entry) {
  if (entry.local_bytes == 0) return;
  for (LaneMask m = entry.mask; m != 0; m &= m - 1) {
    emulator::ByteFlags& flags =
        local_contents_[entry.warp][static_cast<std::size_t>(std::countr_zero(m))];
    flags.grow(entry.local_base + entry.local_bytes);
    flags.clear(entry.local_base, entry.local_bytes);
  }
}

void CheckBlock::fault(const emulator::Fault& fault) {
  faults_.fault(fault, block_);
  races_.fault(fault);
  if (fault.kind == emulator::FaultKind::bad_copy) protocols_.mbarriers.refused_copy();
  if (launch_.grid_order) launch_.grid_order->fault(block_, fault);
  note_found();
}

void CheckBlock::deadlock(const emulator::Deadlock& deadlock) {
  if (!protocols_.deadlock(deadlock)) faults_.deadlock(deadlock, block_);
}

void CheckBlock::merge_into(LaunchChecks& launch) const {
  launch.races.merge(races_.log());
  launch.volatile_races.merge(races_.volatile_races());
  launch.flags.merge(races_.flags());
  launch.wild_threads.merge(races_.wild_threads());
  launch.undefined.merge(undefined_);
  launch.faults.merge(faults_);
  launch.protocols.merge(protocols_);
  launch.overflowed = launch.overflowed || overflowed_;
}

}  // namespace tilescope::observe
