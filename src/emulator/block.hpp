// One running block of threads: its warps, shared memory and barriers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "emulator/async_engine.hpp"
#include "emulator/cluster.hpp"
#include "emulator/events.hpp"
#include "emulator/launch_state.hpp"
#include "emulator/warp.hpp"
#include "emulator/warpgroup.hpp"

namespace tilescope::emulator {

struct BlockBarrier {
  std::vector<BarrierArrival> arrivals;  ///< of it, where observers want to know
  std::vector<LaneMask> arrived;         ///< by warp
  std::uint32_t whole = 0;               ///< warps with all their live lanes in it
  std::uint64_t generation = 0;
  std::uint32_t expected = 0;    ///< threads; 0: all of the block
  std::uint32_t again = 0;       ///< threads that arrived once more: with a count they count again
  std::uint32_t true_lanes = 0;  ///< bar.red: threads whose predicate held...
  std::uint32_t votes = 0;       ///< ...of this many
};

/// The lanes of a warp at the barrier of the cluster.
struct ClusterLanes {
  LaneMask arrived = 0;  ///< in the present generation
  LaneMask passed = 0;   ///< it has been completed since, and they have not waited for it yet
};

enum class BlockProgress : std::uint8_t {
  finished,
  waiting,  ///< its warps only spin
  blocked,  ///< no lane can run before the barrier of the cluster is complete
  yielded,  ///< it has run very long
  aborted,
};

/// A block's printed text is passed on when the block is done.
class Block final : public BlockView {
 public:
  Block(LaunchState& launch, Worker& worker, Cluster& cluster);

  /// `cluster`: its number.
  void start(std::uint64_t cluster, std::uint64_t linear);
  /// Runs until the block is done, or seems to wait for other blocks, or the
  /// launch ends. Where nobody notices, it becomes further blocks before it is done.
  BlockProgress run();
  /// The block is done. It becomes the next one that no host thread has begun, whose warps are to
  /// start. False, and nothing has changed, where there is none or ends of blocks are noticed.
  /// `fills`: its warps' frames hold the registers that depend on the block, at once;
  /// else they do not before fill_frames.
  bool become_next(bool fills = true);
  /// False: it never does.
  bool may_become_next() const { return may_follow_; }
  void fill_frames();
  /// The numbers of those registers, as LaunchState::block_numbers.
  void numbers(std::span<std::uint64_t> numbers) const {
    launch_.block_numbers(linear_, index_, numbers);
  }
  /// The launch has ended while the block was set aside: its observers hear
  /// that it is incomplete.
  void abandon() { end(false); }
  /// The block waits for ever: reports where, and ends it.
  void give_up();
  /// No lane can run: lanes that wait at a warp instruction continue without the absent ones. False
  /// when none waits there.
  bool unblock();
  /// Hands the observers the sums of this host thread's compiled code, if it has any.
  void deliver_sums();
  /// Hands what the observers gathered to the launch; called once, when no more
  /// blocks run.
  void merge_observers();

  Place place(Space space, std::uint64_t address, std::uint32_t warp, int lane) const override;
  LaneMask live(std::uint32_t warp) const override { return warps_[warp].live(); }

  /// Adds what the warp has run to the block's steps and the launch's; false if the launch has been
  /// stopped.
  bool count_turn(Warp& warp) { return count_steps(warp.take_steps()); }
  bool count_steps(std::int64_t instructions) {
    const auto ran = static_cast<std::uint64_t>(instructions);
    steps_ += ran;
    worker_.unreported_steps += ran;
    if (worker_.unreported_steps > launch_.report_after()) {
      launch_.count(worker_);
      launch_.ask_observers();
    }
    return !launch_.stopped();
  }
  /// A round of its warps begins, that has completed so many barriers already.
  void begin_round(std::uint64_t completions) { round_completions_ = completions_ - completions; }
  /// A round is over. `idle`: nothing has happened but that warps spin. False, and nothing has been
  /// noted, where it is time to let other blocks run.
  bool passes_round(bool idle) {
    if (idle && idle_rounds_ + 1 >= kIdleRounds) return false;
    idle_rounds_ = idle ? idle_rounds_ + 1 : 0;
    return true;
  }
  /// It is time for another block.
  bool has_run_long() const { return steps_ - run_begin_ > kQuantum; }
  /// Steps that count_steps need not hear of before, and that do not make it time for another
  /// block; none where this is negative.
  std::int64_t steps_to_go() const {
    return std::min(static_cast<std::int64_t>(kQuantum - (steps_ - run_begin_)),
                    static_cast<std::int64_t>(launch_.report_after() - worker_.unreported_steps));
  }
  /// No barrier is open but perhaps this one, and that for all threads.
  bool has_only_barrier(std::uint8_t number) const {
    return (open_barriers_ & ~(1u << number)) == 0 && barriers_[number].expected == 0;
  }
  /// The barrier, for all threads, has been completed so many times, and whole warps wait at it
  /// now: bits by number.
  void pass_barrier(std::uint8_t number, std::uint64_t completions, std::uint32_t waiting);
  /// All lanes of a warp have left.
  void count_finished_warp() { --running_; }
  /// Nothing depends on when a warp ends: nobody waits.
  bool ends_unnoticed() const {
    return open_barriers_ == 0 && !warpgroups_.in_use() && !cluster_.is_open() &&
           generation_ == cluster_.generation();
  }
  /// So many warps have ended unnoticed.
  void count_ended_warps(std::uint32_t warps) {
    running_ -= warps;
    live_warps_ -= warps;
    cluster_.leave(rank_, warps * kWarpSize, 0);
  }
  std::uint64_t linear() const { return linear_; }
  Dim3 index() const { return index_; }
  LaunchState& launch() const { return launch_; }
  Cluster& cluster() const { return cluster_; }
  /// In the cluster.
  std::uint32_t rank() const { return rank_; }
  std::uint64_t steps() const { return steps_; }
  /// For a block that has ended: whether it would still run if all blocks of the cluster were
  /// equally fast. `running` is the block that runs now.
  bool outlasts(const Block& running) const {
    return steps_ >= running.steps_ + running.worker_.context.warp->steps_now();
  }
  std::vector<Warp>& warps() { return warps_; }
  const BlockObserverSlots& observers() const { return observers_; }
  AsyncEngine& engine() { return engine_; }
  Warpgroups& warpgroups() { return warpgroups_; }
  std::uint8_t* shared() { return shared_.get(); }
  std::uint8_t* local(std::uint32_t warp) {
    return local_.get() + warp * local_stride_ * kWarpSize;
  }
  std::uint64_t local_stride() const { return local_stride_; }
  std::string& printed() { return printed_; }
  bool deadlocked() const { return deadlocked_; }

  /// Lanes arrive; for bar.red, `true_lanes` of them have a true predicate.
  void arrive_barrier(const BarrierArrival& arrival, std::uint32_t true_lanes);
  /// As arrive_barrier, for all 32 lanes of a warp, at a barrier for all threads of the block.
  void arrive_whole(InstructionId id, std::uint32_t warp, std::uint8_t number) {
    BlockBarrier& barrier = barriers_[number];
    LaneMask& arrived = barrier.arrived[warp];
    if (barrier.expected != 0 || arrived != 0 || (worker_.context.events & kOrder) != 0) {
      arrive_barrier({id, warp, kAllLanes, number, BarrierOperation::sync, 0, 0}, 0);
      return;
    }
    used_barriers_ |= 1u << number;
    open_barriers_ |= 1u << number;
    arrived = kAllLanes;
    if (++barrier.whole == live_warps_) complete_barrier(number);
  }
  /// Lanes reach barrier.cluster.arrive.
  void arrive_at_cluster(const Code& code, std::uint32_t warp, LaneMask mask);
  /// Lanes reach barrier.cluster.wait: those that have to wait.
  LaneMask wait_for_cluster(const Code& code, std::uint32_t warp, LaneMask mask);
  /// Called after lanes have left: completes barriers that waited for them. `live`: lanes of the
  /// warp that have not.
  void lanes_left(std::uint32_t warp, LaneMask mask, LaneMask live) {
    look_at_cluster();
    ClusterLanes& lanes = cluster_lanes_[warp];
    cluster_.leave(rank_, lane_count(mask), lane_count(mask & lanes.arrived));
    lanes.arrived &= ~mask;
    if (warpgroups_.in_use()) end_product_waits(false);
    if (live == 0) --live_warps_;
    if (open_barriers_ != 0) leave_barriers(warp, mask);
  }
  /// Passes a fault or defect to the observers and folds it into the summary.
  void report(const Fault& fault);
  /// Lanes do not take part in a product of their warpgroup, or in another one.
  void report_warpgroup(std::uint32_t warp, InstructionId id, LaneMask lanes);
  /// Whether every warp of the warpgroup has issued the products for which `warp` waits at `wait`,
  /// a wgmma.wait_group.
  bool products_issued(std::uint32_t warp, const Code& wait) const;
  /// Tells the observers that the wait is over.
  void announce_product_wait(std::uint32_t warp, const Code& wait, LaneMask mask);
  /// Warps continue whose warpgroup has issued what they wait for; with `force` all that wait, and
  /// the warps that are behind are reported. True if any does.
  bool end_product_waits(bool force);
  /// Ends the launch.
  void trap(std::uint32_t warp, int lane, InstructionId id, TrapReason reason,
            const std::string& what);
  /// Reserves the registers of an activation; false if those of the block take too much memory
  /// already.
  bool take_frame(std::size_t bytes) {
    constexpr std::size_t kMost = 256 << 20;
    if (activation_bytes_ + bytes > kMost) return false;
    activation_bytes_ += bytes;
    return true;
  }
  void give_frame(std::size_t bytes) { activation_bytes_ -= bytes; }
  /// "block (1,0,0), thread (3,0,0)"
  std::string thread_name(std::uint32_t warp, int lane) const;

 private:
  void begin(std::uint64_t linear, bool fills);
  void start_warps();
  void reset_frames(const std::vector<FrameRange>* parts);
  void reset_barriers();
  std::uint32_t threads_of(std::uint32_t warp, LaneMask lanes) const;
  bool barrier_complete(const BlockBarrier& barrier) const;
  void complete_barrier(std::uint8_t number);
  static void write_barrier_result(const Code& code, const Path& path, const BlockBarrier& barrier);
  void enter();
  BlockProgress run_turns();
  void choose_tier();
  bool waits_for_cluster() const;
  void leave_barriers(std::uint32_t warp, LaneMask mask);
  void look_at_cluster() {
    if (generation_ != cluster_.generation()) pass_generation();
  }
  void pass_generation();
  void announce_cluster(const Code& code, std::uint32_t warp, LaneMask mask, bool waits);
  void report_deadlock();
  void end(bool complete);

  LaunchState& launch_;
  Worker& worker_;
  Cluster& cluster_;
  std::uint32_t rank_;
  std::uint64_t linear_ = 0;
  Dim3 index_;
  std::vector<Warp> warps_;
  std::uint32_t running_ = 0;     ///< warps that have not finished
  std::uint32_t live_warps_ = 0;  ///< those with live lanes
  AlignedBytes registers_;
  bool has_frames_ = false;  ///< an earlier block has left its registers
  const std::vector<FrameRange>* frame_resets_ = nullptr;  ///< null: not known yet
  bool is_filled_ = false;   ///< the frames hold the registers that depend on the block
  bool may_follow_ = false;  ///< nobody notices when a block ends and the next one begins
  AlignedBytes shared_;
  AlignedBytes local_;
  std::uint64_t local_stride_ = 0;
  std::array<BlockBarrier, 16> barriers_;
  std::uint32_t used_barriers_ = 0;  ///< the barriers at which lanes of this block have arrived...
  std::uint32_t open_barriers_ = 0;  ///< ...in the present generation of the barrier
  std::vector<ClusterLanes> cluster_lanes_;  ///< by warp
  std::uint64_t generation_ = 0;             ///< of the cluster's barrier, when last looked at
  /// Rounds in which every warp only spun before the block lets others run. After kQuantum warp
  /// instructions it does so anyway.
  static constexpr int kIdleRounds = 8;
  static constexpr std::uint64_t kQuantum = 20'000'000;
  std::uint64_t steps_ = 0;
  std::uint64_t completions_ = 0;
  bool deadlocked_ = false;
  std::size_t activation_bytes_ = 0;  ///< registers of called functions
  std::string printed_;
  std::vector<std::unique_ptr<BlockObserver>> owned_observers_;
  BlockObserverSlots observers_;
  AsyncEngine engine_;
  Warpgroups warpgroups_;
  int idle_rounds_ = 0;
  std::uint64_t round_completions_ = 0;  ///< completions_ when the round began
  std::uint64_t run_begin_ = 0;          ///< steps_ when it began to run
};

// A block starts and ends all of its warps: what follows is a large part of short kernels.

inline void Warp::bind(Worker& worker, const Frame& frame) const {
  worker.context.frame = frame.registers;
}

inline void Warp::start(std::uint32_t pace) {
  live_ = existing_;
  fresh_ = true;
  pace_ = pace;
  if (std::exchange(rests_, false)) return;
  if (!frames_.empty()) frames_.clear();
  if (free_joins_.size() != joins_.size()) {
    free_joins_.clear();
    for (const auto& join : joins_) free_joins_.push_back(join.get());
  }
  spins_ = 0;
  current_ = 0;
  pause_.region = nullptr;
  root_join_.expected = existing_;
  root_join_.arrived = 0;
  paths_.clear();
  paths_.push_back({.mask = existing_, .frame = &root_, .join = &root_join_});
}

inline void Warp::enter(Worker& worker, const Frame& frame) {
  Context& w = worker.context;
  w.warp = this;
  w.warp_index = index_;
  w.local = local_;
  w.live = live_;
  bind(worker, frame);
}

/// `frame`: of the path that runs.
inline std::int64_t& Warp::begin_turn(Worker& worker, const Frame& frame) {
  fresh_ = false;
  enter(worker, frame);
  turn_ = path_turn_ = worker.launch.turn(worker);
  return turn_;
}

/// Lanes leave. True if nobody is left who could wait.
inline bool Warp::leave_as_last(LaneMask mask) {
  live_ &= ~mask;
  spins_ = 0;
  if (live_ != 0 || !frames_.empty()) return false;
  paths_.clear();
  current_ = 0;
  block_->lanes_left(index_, mask, 0);
  return true;
}

inline void Warp::stay_at_barrier(const CodeBlock& block, const Code& code, std::uint8_t number,
                                  bool waits) {
  spins_ = 0;
  Path& path = paths_[current_];
  path.block = block.next;
  path.state = waits ? PathState::barrier : PathState::ready;
  path.barrier = number;
  path.waiting_at = &code;
}

inline bool Warp::full_barrier(const CodeBlock& block, const Code& code, std::uint8_t number) {
  stay_at_barrier(block, code, number, true);
  block_->arrive_whole(code.id, index_, number);
  return paths_[current_].state == PathState::ready;
}

/// Its only path is the one with which it began.
inline bool Warp::has_first_path() const {
  return paths_.size() == 1 && paths_[0].mask == existing_ && paths_[0].join == &root_join_ &&
         frames_.empty() && free_joins_.size() == joins_.size();
}

inline std::int64_t Warp::end_alone() {
  live_ = 0;
  spins_ = 0;
  rests_ = true;
  paths_[0].block = 0;
  paths_[0].state = PathState::ready;  // in rounds it may say where they began
  paths_[0].ahead = false;
  return std::exchange(path_turn_, turn_) - turn_;
}

}  // namespace tilescope::emulator
