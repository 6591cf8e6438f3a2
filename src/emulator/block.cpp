#include "emulator/block.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "emulator/address_space.hpp"
#include "emulator/fault_text.hpp"
#include "emulator/launch_state.hpp"

namespace tilescope::emulator {
namespace {

/// Zeros memory. Large memory is released to the system, which returns zeros where it is touched
/// again: a stack is mostly untouched.
void clear(std::uint8_t* begin, std::size_t bytes) {
  constexpr std::size_t kLarge = 1 << 20, kPage = 4096;
  std::uint8_t* const end = begin + bytes;
  if (bytes >= kLarge) {
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    std::uint8_t* const low = begin + (kPage - address % kPage) % kPage;
    const std::size_t pages = static_cast<std::size_t>(end - low) / kPage * kPage;
    if (madvise(low, pages, MADV_DONTNEED) == 0) {
      std::memset(begin, 0, static_cast<std::size_t>(low - begin));
      std::memset(low + pages, 0, static_cast<std::size_t>(end - (low + pages)));
      return;
    }
  }
  std::memset(begin, 0, bytes);
}

}  // namespace

Block::Block(LaunchState& launch, Worker& worker, Cluster& cluster)
    : launch_(launch),
      worker_(worker),
      cluster_(cluster),
      rank_(cluster.size()),
      warps_(launch.info().warps_per_block),
      shared_(allocate_aligned(std::size_t{launch.info().shared_bytes} + 128)),
      engine_(shared_.get(), warps_.size() * kWarpSize, observers_, worker.schedule) {
  cluster.join(*this);
  const LaunchInfo& info = launch.info();
  cluster_lanes_.resize(info.warps_per_block);
  registers_ = allocate_aligned(std::size_t{launch.frame_bytes()} * info.warps_per_block);
  local_stride_ = launch.local_stride();
  local_ = allocate_aligned(local_stride_ * kWarpSize * info.warps_per_block);
  for (std::uint32_t i = 0; i < info.warps_per_block; ++i) {
    const std::uint32_t threads =
        std::min<std::uint32_t>(kWarpSize, info.threads_per_block - i * kWarpSize);
    warps_[i].join(*this, i, threads == kWarpSize ? kAllLanes : (1u << threads) - 1,
                   registers_.get() + std::size_t{i} * launch.frame_bytes());
  }
  for (BlockBarrier& barrier : barriers_) barrier.arrived.assign(info.warps_per_block, 0);
  for (std::size_t i = 0; i < launch.observers().size(); ++i) {
    owned_observers_.push_back(launch.make_observer(i));
    if (owned_observers_.back()) {
      observers_.push_back({owned_observers_.back().get(), i, kNoEvents, false});
    }
  }
  may_follow_ = launch.setup().cluster.count() == 1 && observers_.empty() && !worker.schedule &&
                !launch.program().needs().prints;
}

void Block::merge_observers() {
  for (std::size_t i = 0; i < owned_observers_.size(); ++i) {
    if (owned_observers_[i]) launch_.merge_observer(i, *owned_observers_[i]);
  }
}

/// The registers of all warps become those of warps that have not begun; `parts` of them if not
/// null: the others are so already.
void Block::reset_frames(const std::vector<FrameRange>* parts) {
  const std::size_t bytes = launch_.frame_bytes();
  if (parts == nullptr) {
    std::memcpy(registers_.get(), launch_.frame_image(0), bytes * warps_.size());
    return;
  }
  for (const FrameRange& part : *parts) {
    std::uint8_t* registers = registers_.get() + part.offset;
    const std::uint8_t* image = launch_.frame_image(0) + part.offset;
    for (std::size_t i = 0; i < warps_.size(); ++i, registers += bytes, image += bytes) {
      std::memcpy(registers, image, part.bytes);
    }
  }
}

/// The block becomes the one of index_, but for its warps and what only some kernels use.
void Block::begin(std::uint64_t linear, bool fills) {
  const LaunchInfo& info = launch_.info();
  linear_ = linear;
  steps_ = completions_ = 0;
  // Memory that a kernel reads without having written it must not depend on earlier blocks.
  if (info.shared_bytes != 0) std::memset(shared_.get(), 0, info.shared_bytes);
  if (local_stride_ != 0) clear(local_.get(), local_stride_ * kWarpSize * info.warps_per_block);
  reset_barriers();
  const bool has_frames = std::exchange(has_frames_, true);
  if (has_frames && frame_resets_ == nullptr && worker_.unwatched) {
    frame_resets_ = worker_.unwatched->frame_resets();
  }
  const std::vector<FrameRange>* const parts = has_frames ? frame_resets_ : nullptr;
  if (parts == nullptr || !parts->empty()) reset_frames(parts);
  const bool was_filled = std::exchange(is_filled_, fills) && parts != nullptr;
  if (fills) launch_.fill_block_specials(registers_.get(), linear_, index_, was_filled);
  running_ = live_warps_ = info.warps_per_block;
}

void Block::fill_frames() {
  if (std::exchange(is_filled_, true)) return;
  launch_.fill_block_specials(registers_.get(), linear_, index_, false);
}

bool Block::become_next(bool fills) {
  std::uint64_t next = 0;
  if (!may_follow_ || generation_ != 0 || !engine_.idle() || warpgroups_.in_use() || deadlocked_ ||
      launch_.hung() || !launch_.take_cluster(next)) {
    return false;
  }
  ++worker_.blocks_followed;
  worker_.changes_before = worker_.context.atomic_changes;
  if (!launch_.is_alone()) launch_.advance();
  cluster_.start(launch_.info().threads_per_block);
  // In place: a copy made as a whole would wait until its members, and all that the last block has
  // stored, are in the cache.
  if (next == linear_ + 1) {
    launch_.setup().advance(index_);
  } else {
    index_ = launch_.block_index(next);
  }
  begin(next, fills);
  run_begin_ = 0;
  idle_rounds_ = 0;
  begin_round(0);
  return true;
}

void Block::start(std::uint64_t cluster, std::uint64_t linear) {
  deadlocked_ = false;
  activation_bytes_ = 0;
  printed_.clear();
  engine_.clear();
  warpgroups_.start(launch_.info().warps_per_block);
  std::fill(cluster_lanes_.begin(), cluster_lanes_.end(), ClusterLanes{});
  generation_ = 0;
  index_ = launch_.block_index(linear);
  begin(linear, true);
  start_warps();
  const CodeFunction& kernel = launch_.program().functions()[0];
  const BlockInfo block{linear_, index_, cluster, rank_};
  for (auto& slot : observers_) {
    slot.wants_block = launch_.observers()[slot.number]->wants_block(linear_);
    slot.events = slot.wants_block ? launch_.observer_events()[slot.number] : kNoEvents;
    if (slot.wants_block) slot.observer->begin_block(block, *this);
    if ((slot.events & kFrames) == 0) continue;
    for (const Warp& warp : warps_) {
      slot.observer->frame_entry({warp.index(), warp.existing(), 0, 0, kernel.local_bytes});
    }
  }
}

void Block::start_warps() {
  for (Warp& warp : warps_) {
    warp.start(worker_.schedule ? worker_.schedule->pace(linear_, warp.index()) : 0);
  }
}

/// The host thread's context becomes that of this block.
void Block::enter() {
  Context& w = worker_.context;
  w.block = this;
  w.shared = shared_.get();
  w.shared_bytes = launch_.info().shared_bytes;
  w.local_stride = local_stride_;
  w.events = 0;
  for (const auto& slot : observers_) w.events |= slot.events;
  choose_tier();
}

/// Compiled code announces no branches that all lanes take together, and accesses either added up
/// or each, not both. Those of local memory it leaves to the interpreter's executors.
void Block::choose_tier() {
  constexpr std::uint32_t kOwn = kAllAccess & ~std::uint32_t{kLocalAccess};
  worker_.compiled = nullptr;
  std::uint32_t single = 0, summed = 0, known = 0;
  for (const auto& slot : observers_) {
    const std::uint32_t as_known = slot.events & launch_.known_events(slot.number);
    const std::uint32_t as_single = slot.events & launch_.single_events(slot.number);
    known |= as_known;
    single |= as_single & ~as_known;
    summed |= slot.events & ~as_single & kOwn;
  }
  if ((single & (kOwn | kBranches)) != 0 || (summed != 0 && known != 0)) return;
  worker_.compiled = (known != 0    ? worker_.announced
                      : summed != 0 ? worker_.summed
                                    : worker_.unwatched)
                         .get();
}

void Block::deliver_sums() {
  if (worker_.summed) worker_.summed->deliver_sums(observers_);
}

BlockProgress Block::run() {
  const BlockProgress progress = run_turns();
  if (launch_.sums_by_block()) deliver_sums();
  return progress;
}

BlockProgress Block::run_turns() {
  enter();
  look_at_cluster();
  idle_rounds_ = 0;
  run_begin_ = steps_;
  for (;;) {
    begin_round(0);
    bool idle = true;
    Schedule::Round round{{}, warps_.size()};
    if (worker_.schedule) round = worker_.schedule->round(linear_, warps_.size());
    for (std::size_t i = 0; i < warps_.size(); ++i) {
      const CompiledExit* exit = nullptr;
      if (worker_.compiled != nullptr) {
        const WarpsRun ran = worker_.compiled->run_warps(*this, i);
        idle = idle && ran.idle;
        if (launch_.stopped()) {
          end(false);
          return BlockProgress::aborted;
        }
        if (ran.next == warps_.size()) break;
        i = ran.next;
        exit = ran.exit;
      }
      Warp& warp = warps_[round.warps.empty() ? i : round.warps[i]];
      if (warp.live() == 0) continue;
      if (i >= round.awake && !idle) break;
      const Stop stop = warp.run(worker_, exit);
      switch (stop) {
        case Stop::finished:
          count_finished_warp();
          idle = false;
          break;
        case Stop::yielded:
          idle = false;
          break;
        case Stop::aborted:
          end(false);
          return BlockProgress::aborted;
        case Stop::blocked:
        case Stop::spinning:
          break;
      }
      if (!count_turn(warp)) {
        end(false);
        return BlockProgress::aborted;
      }
    }
    if (running_ == 0) {
      if (become_next()) {
        start_warps();
        continue;
      }
      end(true);
      return BlockProgress::finished;
    }
    if (std::none_of(warps_.begin(), warps_.end(), [](const Warp& x) { return x.can_run(); })) {
      if (waits_for_cluster()) return BlockProgress::blocked;
      if (unblock()) continue;
      give_up();
      return BlockProgress::finished;
    }
    if (worker_.schedule && engine_.finish_some()) ++completions_;
    if (!passes_round(idle && round_completions_ == completions_)) return BlockProgress::waiting;
    if (has_run_long()) return BlockProgress::yielded;
    if (worker_.schedule && !idle && worker_.schedule->leaves_block()) {
      return BlockProgress::yielded;
    }
  }
}

void Block::give_up() {
  end_product_waits(true);
  report_deadlock();
  std::uint32_t arrived = 0;
  for (const ClusterLanes& lanes : cluster_lanes_) {
    arrived += static_cast<std::uint32_t>(std::popcount(lanes.arrived));
  }
  cluster_.drop(rank_, arrived);
  end(false);
}

void Block::end(bool complete) {
  if (!engine_.idle()) engine_.finish_all();
  if (complete && warpgroups_.in_use()) {
    for (const auto& [warp, id] : warpgroups_.missing()) report_warpgroup(warp, id, kAllLanes);
  }
  if (launch_.sums_by_block()) deliver_sums();
  for (const auto& slot : observers_) {
    if (slot.wants_block) slot.observer->end_block(complete);
  }
}

void Block::report_warpgroup(std::uint32_t warp, InstructionId id, LaneMask lanes) {
  report({.kind = FaultKind::warpgroup,
          .instruction = id,
          .warp = warp,
          .lanes = lanes,
          .space = Space::shared,
          .access = AccessKind::load,
          .bytes = 0,
          .address = warp % kWarpsPerGroup,
          .object = {},
          .object_bytes = 0,
          .distance = 0,
          .addresses = nullptr});
}

bool Block::unblock() {
  enter();
  const auto any_warp = [&](auto frees) {
    return std::any_of(warps_.begin(), warps_.end(), frees);
  };
  return any_warp([](Warp& warp) { return warp.release_named(); }) || end_product_waits(true) ||
         any_warp([&](Warp& warp) { return warp.force_collective(worker_); });
}

void Block::report_deadlock() {
  deadlocked_ = true;
  std::vector<StuckLanes> stuck;
  std::vector<LaneMask> exited;
  for (const Warp& warp : warps_) {
    warp.list_stuck(stuck);
    exited.push_back(warp.existing() & ~warp.live());
  }
  const Deadlock event{stuck, exited};
  for (const auto& slot : observers_) {
    if ((slot.events & kFaults) != 0) slot.observer->deadlock(event);
  }
  launch_.record_deadlock(linear_, deadlock_text(launch_.program(), index_, event));
}

Place Block::place(Space space, std::uint64_t address, std::uint32_t warp, int lane) const {
  const Program& program = launch_.program();
  switch (space) {
    case Space::global:
    case Space::constant: {
      const Allocation* found = launch_.setup().memory.find(address);
      if (found == nullptr) return {};
      return {found->name(), found->bytes(), address - found->address()};
    }
    case Space::shared:
      for (const SharedVariable& variable : launch_.info().shared_variables) {
        if (address - variable.offset < variable.bytes) {
          return {variable.name, variable.bytes, address - variable.offset};
        }
      }
      return {};
    case Space::local:
      for (const Frame* frame = warps_[warp].frame_of(lane); frame; frame = frame->caller) {
        for (const LocalVariable& variable : frame->function->locals) {
          const std::uint64_t offset = address - frame->local_base - variable.offset;
          if (offset < variable.bytes) return {variable.name, variable.bytes, offset};
        }
      }
      return {};
    case Space::parameter:
      for (const ptx::Parameter& parameter : program.functions()[0].source->parameters) {
        if (address - parameter.offset < parameter.size) {
          return {parameter.name, parameter.size, address - parameter.offset};
        }
      }
      return {};
  }
  return {};
}

void Block::report(const Fault& fault) {
  for (const auto& slot : observers_) {
    if ((slot.events & kFaults) != 0) slot.observer->fault(fault);
  }
  if (fault.kind == FaultKind::late_access) return;
  FaultRecord record{fault.kind,
                     fault.instruction,
                     static_cast<std::uint64_t>(std::popcount(fault.lanes)),
                     {},
                     linear_};
  if (launch_.wants_text(record)) {
    const int lane = fault.lanes == 0 ? 0 : std::countr_zero(fault.lanes);
    record.text = fault_text(launch_.program(), thread_name(fault.warp, lane), fault);
  }
  launch_.record(record);
}

void Block::trap(std::uint32_t warp, int lane, InstructionId id, TrapReason reason,
                 const std::string& what) {
  const std::uint32_t thread = warp * kWarpSize + static_cast<std::uint32_t>(lane);
  launch_.trap(
      {reason, what, id, linear_, thread},
      fmt::format("{}: {}; {}", launch_.program().place(id), what, thread_name(warp, lane)));
}

std::string Block::thread_name(std::uint32_t warp, int lane) const {
  const Dim3& size = launch_.setup().block;
  const std::uint32_t linear = warp * kWarpSize + static_cast<std::uint32_t>(lane);
  return fmt::format("block ({},{},{}), thread ({},{},{})", index_.x, index_.y, index_.z,
                     linear % size.x, linear / size.x % size.y, linear / size.x / size.y);
}

}  // namespace tilescope::emulator
