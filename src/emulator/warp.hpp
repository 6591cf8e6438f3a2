// The state of one warp: the places of its lanes.
//
// Lanes at the same place form a path. Where a branch splits a path, both sides become paths of
// their own, and a join records where they are to meet (the immediate post-dominator) and which
// lanes it expects. A path that reaches its join's block ends there; when the last expected lane
// has arrived, one path continues from the join. Joins nest, so this is the usual reconvergence
// stack, except that both sides stay runnable: a path that spins yields to the others, and if it
// still spins, lanes that wait at a join are released before it (it may be waiting for them).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "emulator/aligned_bytes.hpp"
#include "emulator/compiled_code.hpp"
#include "emulator/context.hpp"
#include "emulator/program.hpp"

namespace tilescope::emulator {

class Block;
class Schedule;
struct Worker;

/// An activation of a function.
struct Frame {
  const CodeFunction* function = nullptr;
  std::uint32_t index = 0;  ///< of the function in the program
  std::uint8_t* registers = nullptr;
  AlignedBytes storage;  ///< of a called function; the kernel's registers belong to the block
  Frame* caller = nullptr;
  const CallCode* call = nullptr;
  std::uint64_t local_base = 0;
  std::uint64_t local_top = 0;
  std::uint32_t depth = 0;
};

inline constexpr std::uint32_t kReturnBlock = 0xfffffffeu;

/// The place where diverged lanes meet again.
struct Join {
  Join* parent = nullptr;
  Frame* frame = nullptr;              ///< in which the lanes continue
  std::uint32_t block = kReturnBlock;  ///< kReturnBlock: lanes arrive by returning from `callee`
  std::uint32_t resume = kNone;        ///< where they continue
  LaneMask expected = 0;
  LaneMask arrived = 0;
  Frame* callee = nullptr;  ///< the activation that ends with this join
};

enum class PathState : std::uint8_t { ready, barrier, cluster, collective, products };

struct Path {
  LaneMask mask = 0;
  std::uint32_t block = 0;  ///< where it is or, while it waits, where it will continue
  Frame* frame = nullptr;
  Join* join = nullptr;
  PathState state = PathState::ready;
  std::uint8_t barrier = 0;
  const Code* waiting_at = nullptr;
  LaneMask members = 0;  ///< of the collective
  bool ahead = false;    ///< did not wait at its join, for the sake of a collective: release_named
};

/// The reason why a warp stopped running.
enum class Stop : std::uint8_t {
  blocked,   ///< no path can continue by itself
  spinning,  ///< it waits for something that another thread may do
  yielded,   ///< it used up its turn
  finished,  ///< all lanes have left
  aborted,   ///< the launch is to end
};

class Warp {
 public:
  /// The block that it belongs to, once, and what is the same in each of the blocks that this one
  /// becomes.
  void join(Block& block, std::uint32_t index, LaneMask existing, std::uint8_t* registers);
  /// A further block begins. `pace`: as Schedule::pace.
  void start(std::uint32_t pace);
  /// `exit`: where CompiledThread::run_warps has left its turn; null: a new one begins.
  Stop run(Worker& worker, const CompiledExit* exit);

  LaneMask existing() const { return existing_; }
  LaneMask live() const { return live_; }
  std::uint32_t index() const { return index_; }
  std::span<const Path> paths() const {
    return std::span(paths_).first(rests_ ? 0 : paths_.size());
  }
  std::span<Path> paths() { return std::span(paths_).first(rests_ ? 0 : paths_.size()); }
  bool can_run() const;
  /// Warp instructions run since the last call.
  std::int64_t take_steps() { return std::exchange(steps_, 0); }
  /// Those run in this turn so far.
  std::uint64_t steps_now() const {
    return static_cast<std::uint64_t>(steps_ + (path_turn_ - turn_));
  }
  /// The innermost activation of a lane; null when it has left.
  const Frame* frame_of(int lane) const;
  /// One past the highest local address of the running activation.
  std::uint64_t local_top() const { return paths_[current_].frame->local_top; }
  Frame& running_frame() { return *paths_[current_].frame; }
  /// Lets lanes go on that wait at a join, if other lanes wait for them at a collective: they may
  /// arrive or leave. False when there are none.
  bool release_named();
  /// Lets paths that wait at a collective continue with the lanes that arrived, and reports the
  /// absent ones. False when none waits.
  bool force_collective(Worker& worker);
  /// All 32 lanes of the running path run a warp instruction that names no other lanes.
  void run_together(Worker& worker, const Code& code);
  void announce_sync(const Code& code, LaneMask mask, LaneMask members);
  /// Tells observers that of `lanes`, which run, only `taken` take a branch.
  void announce_parting(const Code& code, LaneMask lanes, LaneMask taken) const {
    announce({code.id, index_, lanes, taken});
  }
  /// Lists where lanes wait, for reports.
  void list_stuck(std::vector<StuckLanes>& stuck) const;

  // --- for CompiledThread::run_warps ---
  /// It has not run yet, and has all lanes.
  bool begins() const { return fresh_ && existing_ == kAllLanes; }
  CompiledPause& pause() { return pause_; }
  /// Whether a paused warp's barrier is complete, or there is none.
  bool may_resume() const { return paths_[current_].state == PathState::ready; }
  /// The activation of a warp that has not run yet.
  const Frame& first_frame() const { return root_; }
  /// It has begun, in a round.
  void begin_late() { fresh_ = false; }
  /// As full_barrier, where the block does not hear of it: Block::pass_barrier.
  void stay_at_barrier(const CodeBlock& block, const Code& code, std::uint8_t number, bool waits);
  /// As spin, so many times since the last barrier.
  void stay_in_loop(std::uint32_t block, std::uint32_t spins) {
    paths_[current_].block = block;
    paths_[current_].state = PathState::ready;
    spins_ = spins % kSpinsBeforeBreak;
  }
  std::uint32_t spins() const { return spins_; }
  /// The warp instructions that are left of the turn.
  std::int64_t& turn() { return turn_; }
  /// Its turns in compiled code begin with so many.
  void begin_round(std::int64_t turn) { turn_ = path_turn_ = turn; }
  /// The warp instructions that are left of the turn, which begins.
  std::int64_t& begin_turn(Worker& worker, const Frame& frame);
  /// The host thread's context becomes the warp's.
  void enter(Worker& worker, const Frame& frame);
  /// Adds the turn to the steps.
  void end_turn() { steps_ += std::exchange(path_turn_, turn_) - turn_; }
  /// It has its first path only, and that has ended; nobody waits for it. Returns the warp
  /// instructions of its turn.
  std::int64_t end_alone();
  bool has_first_path() const;
  /// Its turn ends behind a round of a loop that may wait for others; it goes on at the begin of
  /// the block.
  void spin(std::uint32_t block) {
    paths_[current_].block = block;
    count_spin();
  }
  /// All its lanes leave the kernel.
  void end(Worker& worker) {
    if (!leave_as_last(kAllLanes)) leave(worker, kAllLanes);
  }
  /// All 32 lanes of the running path reach a barrier of known number for all threads of the block,
  /// which ends `block`. True when they need not wait.
  bool full_barrier(const CodeBlock& block, const Code& code, std::uint8_t number);

 private:
  /// How often a warp may spin before lanes that wait for it at a join are released.
  static constexpr std::uint32_t kSpinsBeforeBreak = 64;
  Stop run_path(Worker& worker, const CompiledExit* exit, bool interpret);
  const CompiledExit* run_compiled(Worker& worker, std::uint32_t b);
  /// True where that was often enough to release lanes.
  bool count_spin() {
    if (++spins_ < kSpinsBeforeBreak) return false;
    spins_ = 0;
    return true;
  }
  const CompiledExit* cross_barriers(Worker& worker, const CompiledExit* exit);
  LaneMask part_as(const CompiledExit& exit);
  /// The current path goes on at the begin of the block, in another turn.
  Stop stop_at(std::uint32_t block, Stop reason) {
    paths_[current_].block = block;
    return reason;
  }
  void begin_block(Worker& worker, const CodeBlock& block, LaneMask mask);
  static LaneMask lanes_on(Worker& worker, const Code& code, LaneMask mask);
  static void run_body(Worker& worker, const Code* code, const Code* end, LaneMask mask);
  std::optional<Stop> end_block(Worker& worker, const CodeBlock& block, const Code& code,
                                LaneMask on);
  bool pick();
  void rotate(std::optional<Schedule>& schedule);
  void end_path();
  void arrive();
  void resume(Join& join);
  void settle(Join* join);
  bool break_join(LaneMask lanes);
  bool leave_as_last(LaneMask mask);
  void leave(Worker& worker, LaneMask mask);
  void announce(const Branch& event) const;
  void branch(const CodeBlock& block, LaneMask taken);
  void branch_indexed(Worker& worker, const CodeBlock& block, const Code& code);
  void part(LaneMask stays, std::uint32_t others);
  bool call(Worker& worker, const CodeBlock& block, const Code& code, LaneMask mask);
  bool enter(Worker& worker, const Code& code, const CallCode& call, std::uint32_t callee,
             LaneMask mask, std::uint32_t next);
  void do_return(LaneMask mask, std::uint32_t next);
  bool barrier(Worker& worker, const CodeBlock& block, const Code& code, LaneMask mask);
  bool cluster_barrier(const CodeBlock& block, const Code& code, LaneMask mask);
  bool product_wait(const CodeBlock& block, const Code& code, LaneMask mask);
  bool collective(Worker& worker, const CodeBlock& block, const Code& code, LaneMask mask);
  LaneMask gathered(LaneMask members) const;
  bool try_collective(Worker& worker, LaneMask members, bool force);
  /// A fault of lanes that synchronise, with the offending mask or number.
  void report(FaultKind kind, InstructionId id, LaneMask lanes, std::uint64_t number);
  void exchange(Worker& worker, const Code& code, LaneMask mask, const Frame& frame);
  void run_collective(Worker& worker, const Code& code, const Frame& frame, LaneMask mask,
                      LaneMask members);
  void merge_paths();
  Join* new_join(const Join& join);
  void free_join(Join* join);
  void free_frame(Frame* frame);
  void bind(Worker& worker, const Frame& frame) const;

  // Those that each turn and each new block touch come first: they lie in few cache lines.
  Block* block_ = nullptr;
  std::uint32_t index_ = 0;
  LaneMask existing_ = 0, live_ = 0;
  std::uint32_t spins_ = 0;
  std::uint32_t pace_ = 0;
  bool fresh_ = false;  ///< it has not run yet
  bool rests_ = false;  ///< its only path has ended, and is that of a warp that begins: end_alone
  std::size_t current_ = 0;
  std::vector<Path> paths_;
  std::int64_t turn_ = 0;       ///< instructions left of it
  std::int64_t path_turn_ = 0;  ///< its value when the running path was picked
  std::int64_t steps_ = 0;
  std::uint8_t* local_ = nullptr;
  CompiledPause pause_;
  std::vector<Join*> free_joins_;
  std::vector<std::unique_ptr<Join>> joins_;  ///< all but the first; `free_joins_` are unused
  std::vector<std::unique_ptr<Frame>> frames_;
  Join root_join_;  ///< of lanes that have not diverged
  Frame root_;
};

}  // namespace tilescope::emulator
