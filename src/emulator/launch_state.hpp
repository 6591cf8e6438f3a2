// The common state of a launch's host threads, and the state of each.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emulator/aligned_bytes.hpp"
#include "emulator/compiled_code.hpp"
#include "emulator/context.hpp"
#include "emulator/launch_schedule.hpp"
#include "emulator/launch_setup.hpp"
#include "emulator/touched_bytes.hpp"

namespace tilescope::emulator {

class Block;

struct BlockObserverSlot {
  BlockObserver* observer;
  std::size_t number;    ///< of its Observer, among those of the launch
  std::uint32_t events;  ///< that it receives of the present block
  bool wants_block;      ///< Observer::wants_block() of the present block
};
using BlockObserverSlots = std::vector<BlockObserverSlot>;

struct BlockCounter {
  std::uint64_t executed = 0;
  std::uint64_t absent = 0;  ///< lanes that have not run with the others of their warps
  std::uint64_t active() const { return 32 * executed - absent; }
};

class LaunchState;

/// One host thread's own state.
struct Worker {
  explicit Worker(LaunchState& state);
  /// The counts become exact: compiled code keeps some for itself.
  void settle_counts();

  LaunchState& launch;
  Context context;
  std::vector<AccessPattern> patterns;
  std::vector<BlockCounter> counters;   ///< by CodeBlock::counter
  std::vector<std::uint64_t> lanes_on;  ///< by InstructionId
  std::uint64_t unreported_steps = 0;   ///< not added to the launch's count yet
  std::uint64_t blocks_followed = 0;    ///< that others have followed in place: become_next
  std::uint64_t changes_before = 0;  ///< Context::atomic_changes as the present block's run began
  std::optional<Schedule> schedule;  ///< nothing: the usual order
  /// Compiled code of blocks that nobody watches, of those whose observers take accesses added up,
  /// and of those that take known accesses; null: there is none.
  std::unique_ptr<CompiledThread> unwatched, summed, announced;
  CompiledThread* compiled = nullptr;  ///< of the present block; null: everything is interpreted
};

class LaunchState {
 public:
  explicit LaunchState(const LaunchSetup& setup);

  const LaunchSetup& setup() const { return setup_; }
  const Program& program() const { return setup_.program; }
  const LaunchInfo& info() const { return info_; }
  std::uint64_t cluster_count() const { return clusters_; }
  Dim3 block_index(std::uint64_t linear) const { return setup_.block_index(linear); }
  std::uint32_t frame_bytes() const { return frame_bytes_; }
  std::uint64_t local_stride() const { return local_stride_; }
  /// The initial registers of a kernel's warp, except the block's index.
  const std::uint8_t* frame_image(std::uint32_t warp) const {
    return images_.get() + std::size_t{warp} * frame_bytes_;
  }
  /// Fills the registers that depend on the block, in the frames of all its warps. `kept`: they
  /// hold those of an earlier block.
  void fill_block_specials(std::uint8_t* frames, std::uint64_t block, const Dim3& index,
                           bool kept) const;
  /// Those registers' numbers, in the order of the kernel's special registers; not more than there
  /// is room for.
  void block_numbers(std::uint64_t block, const Dim3& index,
                     std::span<std::uint64_t> numbers) const;
  /// Fills all special registers of a called function's frame.
  void fill_specials(const CodeFunction& function, std::uint8_t* registers, std::uint64_t block,
                     std::uint32_t warp, std::uint64_t local_base) const;

  // --- progress, safe from several threads ---
  bool take_cluster(std::uint64_t& number);
  bool stopped() const { return stop_.load(std::memory_order_relaxed); }
  /// Warp instructions that a warp may run before the next one has its turn:
  /// fewer near the limit.
  std::int64_t turn(const Worker& worker) const {
    return setup_.options.max_instructions == 0 ? kLongestTurn : limited_turn(worker);
  }
  /// A host thread that has run more than this reports its instructions with `count`.
  std::uint64_t report_after() const { return report_after_; }
  /// Adds to the count of instructions; stops the launch if the budget is spent or it was
  /// cancelled.
  void count(Worker& worker);
  /// Stops the launch if an observer has seen enough. Not for host threads that find no further
  /// block: others would leave their last ones, however little is missing of them.
  void ask_observers();
  void trap(const TrapPlace& place, const std::string& text);
  void stop(LaunchEnd end, const std::string& message);
  /// Whether `record` will keep the text of this fault.
  bool wants_text(const FaultRecord& fault);
  void record(const FaultRecord& fault);
  void record_deadlock(std::uint64_t block, const std::string& message);
  void block_done(std::uint64_t linear, bool complete, std::string&& printed);
  std::unique_ptr<BlockObserver> make_observer(std::size_t which);
  void merge_observer(std::size_t which, BlockObserver& observer);
  std::span<Observer* const> observers() const { return setup_.options.observers; }
  const std::vector<std::uint32_t>& observer_events() const { return observer_events_; }
  /// The events of an observer that cannot come added up.
  std::uint32_t single_events(std::size_t observer) const { return single_events_[observer]; }
  /// The events among them that may come as known accesses.
  std::uint32_t known_events(std::size_t observer) const { return known_events_[observer]; }
  bool has_known_accesses() const { return has_known_accesses_; }
  /// An observer takes accesses added up, if it watches a block; some does so block by block.
  bool has_sums() const { return has_sums_; }
  bool sums_by_block() const { return sums_by_block_; }
  /// Receives what added up accesses touch; null where there are none.
  TouchedBytes* touched_bytes() const { return touched_; }
  void merge_counts(const Worker& worker);

  // --- blocks that wait for ever (stall.hpp), safe from several threads ---
  /// A number that grows whenever a block does anything but wait.
  std::uint64_t progress() const { return progress_.load(); }
  void advance() { ++progress_; }
  /// The blocks of one host thread cannot go on by themselves, if nothing has happened since
  /// progress() was `since`. Each thread says so once for each value.
  void stalled(std::uint64_t since);
  /// A host thread has no more blocks.
  void leave();
  /// No block of any host thread can ever go on.
  bool hung() const { return hung_.load(std::memory_order_relaxed); }

  /// Announces the launch to the observers and reads their subscriptions.
  void announce();
  /// `threads`: host threads that are about to run blocks.
  void share_among(unsigned threads);
  /// One host thread runs all blocks.
  bool is_alone() const { return threads_ == 1; }
  LaunchSummary finish(double seconds);

 private:
  static constexpr std::int64_t kLongestTurn = 50'000;
  std::int64_t limited_turn(const Worker& worker) const;
  void flush_prints(bool all);

  LaunchSetup setup_;
  LaunchInfo info_;
  std::vector<SharedVariable> shared_variables_;
  std::vector<std::uint32_t> observer_events_;
  std::uint64_t clusters_ = 0;
  std::uint32_t frame_bytes_ = 0;
  std::uint64_t local_stride_ = 0;
  AlignedBytes images_;
  std::vector<SpecialUse> block_specials_;  ///< of the kernel

  unsigned threads_ = 1;
  std::uint64_t report_after_ = 0;
  std::atomic<std::uint64_t> next_cluster_{0};
  std::atomic<std::uint64_t> instructions_{0};
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> progress_{0};
  std::atomic<bool> hung_{false};
  std::mutex mutex_;
  unsigned at_work_ = 1;             ///< host threads that have blocks
  std::uint64_t stalled_since_ = 0;  ///< the value of progress() for which...
  unsigned stalled_ = 0;             ///< ...so many of them are stalled
  LaunchEnd end_ = LaunchEnd::complete;
  std::string message_;
  std::uint64_t message_block_ = ~std::uint64_t{0};
  TrapPlace trap_;
  std::atomic<std::uint64_t> blocks_run_{0};
  std::uint64_t deadlocked_ = 0;
  std::map<std::pair<InstructionId, FaultKind>, FaultRecord> faults_;
  std::map<std::uint64_t, std::string> prints_;  ///< text of blocks that wait for earlier ones
  std::map<std::uint64_t, bool> done_;  ///< blocks that finished before their turn to print
  std::uint64_t next_print_ = 0;
  std::vector<std::uint64_t> executed_, active_, on_;

  // --- accesses that observers take added up ---
  std::vector<std::uint32_t> single_events_;  ///< by observer
  std::vector<std::uint32_t> known_events_;   ///< by observer
  bool has_known_accesses_ = false;
  bool has_sums_ = false, sums_by_block_ = false;
  TouchedBytes* touched_ = nullptr;
  std::unique_ptr<TouchedBytes> own_touched_;  ///< where no observer asks for them
};

/// Runs the whole grid.
LaunchSummary run_grid(const LaunchSetup& setup);

}  // namespace tilescope::emulator
