// Which compiled region a warp enters, on one host thread.
#include <algorithm>
#include <array>
#include <cstring>

#include "emulator/block.hpp"
#include "emulator/compiled/compiled_program.hpp"
#include "emulator/compiled/turn_rounds.hpp"
#include "emulator/lane_key.hpp"
#include "emulator/launch_state.hpp"

namespace tilescope::emulator::compiled {
namespace {

constexpr std::uint32_t kPatience = 150;       // entries before a block is compiled
constexpr std::uint32_t kNotAgain = 1u << 30;  // entries, in the place of for ever
constexpr std::uint32_t kRefusals = 8;         // before a head gets a further region
constexpr std::uint32_t kMostFailures = 200;   // of a region's checks
constexpr std::uint32_t kFittingTries = 64;    // after which a region must have fitted...
constexpr std::uint32_t kLeastFitting = 8;     // ...one of so many warps
constexpr std::uint32_t kTrial = 256;          // entries after which a region must have paid

using Exit = CompiledRegion::Exit;

class Thread final : public CompiledThread {
 public:
  Thread(CompiledProgram& program, Worker& worker, std::optional<std::uint32_t> patience);
  ~Thread() override {
    program_.keep_patience(patience_);
    program_.add_executed(executed_since());
  }
  const CompiledExit* run(const Frame& frame, std::uint32_t block, std::uint32_t join,
                          CompiledPause& pause, std::int64_t& turn) override;
  WarpsRun run_warps(Block& block, std::size_t first) override;
  const CompiledExit* resume(const Frame& frame, CompiledPause& pause, std::int64_t& turn) override;
  const std::vector<FrameRange>* frame_resets() override;
  void deliver_sums(const BlockObserverSlots& observers) override;
  void settle_counts() override { program_.settle_counts(bounds_, state_); }

 private:
  /// How often warps that tried a region fitted it; counted where not every warp does.
  struct Fitting {
    std::uint32_t tries = 0, fits = 0;
  };
  struct Trial {
    std::uint32_t refusals = 0, runs = 0;
    std::int64_t instructions = 0;
  };
  void prepare(const Block& block);
  void switch_to(const CompiledRegion& region, const Frame& frame, CompiledPause& pause);
  std::uint64_t call(const CompiledRegion& region, std::size_t entry, std::int64_t& turn);
  std::uint64_t enter(const CompiledRegion& region, std::size_t entry, const Frame& frame,
                      CompiledPause& pause, std::int64_t& turn);
  const CompiledRegion* known_beginning(const Warp& warp) const;
  const Exit& cross_barriers(Block& block, Warp& warp, const CompiledRegion& region,
                             std::uint64_t number);
  void tell_ends(Block& block) {
    if (ended_ != 0) block.count_ended_warps(std::exchange(ended_, 0));
  }
  const CompiledExit* left(const CompiledRegion& region, std::uint64_t exit, CompiledPause& pause);
  bool is_worth_trying(const CompiledRegion& region);
  void refuse(const Frame& frame, std::uint32_t block, std::uint32_t counter);
  Wish compile(const Frame& frame, std::uint32_t block, std::size_t known);
  std::uint64_t executed_since();
  const TurnRounds::End* run_rounds(Block& block);
  const Exit& leave(Block& block, Warp& warp, const CompiledRegion& region, std::uint64_t number);
  bool end_turn(Block& block, Warp& warp, const CompiledRegion& region, const Exit& exit,
                WarpsRun& result);
  void judge(const CompiledRegion& region, std::uint32_t counter, std::int64_t instructions,
             std::uint32_t runs = 1);

  CompiledProgram& program_;
  CompiledState state_;
  bool has_rounds_ = false;  ///< some region that it has entered has
  std::uint32_t ended_ = 0;  ///< warps that have ended unnoticed, since the block was last told
  std::vector<AccessBounds> bounds_;
  std::vector<SumEntry> sums_;
  std::vector<std::uint64_t> recent_;
  std::vector<UsedEntry> used_;
  std::uint64_t first_place_ = 0;  ///< CompiledState::place of the block's first warp
  std::vector<Trial> trials_;      ///< by CodeBlock::counter
  std::vector<Fitting> fitting_;   ///< by region
  /// By warp of a block: the region at the kernel's begin whose assumptions hold for it in every
  /// block. Null: none is known.
  std::vector<const CompiledRegion*> trusted_;
  const std::uint32_t early_blocks_;  ///< before frame_resets
  bool sparing_;                      ///< compiling must pay
  std::uint64_t executed_ = 0;        ///< what executed_since has told
  const std::vector<FrameRange>* frame_resets_ = nullptr;
  TurnRounds rounds_{state_};
};
/// `patience`: nothing: the usual one.
Thread::Thread(CompiledProgram& program, Worker& worker, std::optional<std::uint32_t> patience)
    : CompiledThread(program.patience(worker.counters.size(), patience.value_or(kPatience))),
      program_(program),
      trials_(worker.counters.size()),
      trusted_(worker.launch.info().warps_per_block, nullptr),
      early_blocks_(patience.value_or(kPatience) / 4),
      sparing_(!patience) {
  state_.counters = worker.counters.data();
  state_.lanes_on = worker.lanes_on.data();
  state_.parameters = worker.context.parameters;
  state_.context = &worker.context;
  state_.worker = &worker;
  state_.alone = worker.launch.is_alone() ? 1 : 0;
  state_.touched = worker.launch.touched_bytes();
  state_.used = &used_;
}

/// Makes the state that of the block, with room for all regions of the program so far.
void Thread::prepare(const Block& block) {
  const Context& w = *state_.context;
  if (bounds_.size() < program_.bounds()) bounds_.resize(program_.bounds());
  state_.bounds = bounds_.data();
  state_.shared = w.shared;
  state_.shared_bytes = w.shared_bytes;
  if (program_.watch() != AccessWatch::sums) return;
  if (sums_.size() < program_.sum_entries()) sums_.resize(program_.sum_entries());
  const std::size_t recent = std::size_t{program_.recent_tables()} * kRecentAddresses;
  if (recent_.size() < recent) recent_.resize(recent);
  state_.sums = sums_.data();
  state_.recent = recent_.data();
  first_place_ = block.linear() * block.launch().info().warps_per_block;
}

/// Behind `prepare`.
void Thread::switch_to(const CompiledRegion& region, const Frame& frame, CompiledPause& pause) {
  if (pause.numbers.size() < region.slots) pause.numbers.resize(region.slots);
  Context& w = *state_.context;
  w.active = w.mask = kAllLanes;
  state_.slots = pause.numbers.data() + kSlotsBefore;
  state_.frame = frame.registers;
  state_.place = first_place_ + w.warp_index;
}

/// Runs the region's code, which uses up some of the turn, until it is left.
inline std::uint64_t Thread::call(const CompiledRegion& region, std::size_t entry,
                                  std::int64_t& turn) {
  state_.turn = turn;
  const std::uint64_t exit = region.entry(entry)(&state_);
  turn = state_.turn;
  take_back(state_, region, exit);
  return exit;
}

/// The same for a region that any host thread may have added.
std::uint64_t Thread::enter(const CompiledRegion& region, std::size_t entry, const Frame& frame,
                            CompiledPause& pause, std::int64_t& turn) {
  prepare(*state_.context->block);
  switch_to(region, frame, pause);
  return call(region, entry, turn);
}

const CompiledExit* Thread::left(const CompiledRegion& region, std::uint64_t number,
                                 CompiledPause& pause) {
  const Exit& exit = region.exits[number];
  pause.taken = state_.taken;
  if (exit.kind == ExitKind::waits || exit.kind == ExitKind::spins) {
    pause.region = &region;
    pause.exit = number;
  } else if (exit.kind == ExitKind::failed) {
    ++region.failures;
  }
  return &exit.place;
}

const CompiledExit* Thread::resume(const Frame& frame, CompiledPause& pause, std::int64_t& turn) {
  const auto& region = *static_cast<const CompiledRegion*>(std::exchange(pause.region, nullptr));
  const std::int64_t before = turn;
  const std::uint64_t exit = enter(region, region.exits[pause.exit].entry, frame, pause, turn);
  trials_[region.counter].instructions += before - turn;
  return left(region, exit, pause);
}

const CompiledExit* Thread::run(const Frame& frame, std::uint32_t block, std::uint32_t join,
                                CompiledPause& pause, std::int64_t& turn) {
  const std::uint32_t counter = frame.function->blocks[block].counter;
  // The kernel's begin, where all that a region assumes may be known to hold.
  const bool begins = block == 0 && frame.index == 0 && join == kReturnBlock;
  const CompiledRegion** const trusted = begins ? &trusted_[state_.context->warp_index] : nullptr;
  if (begins && *trusted != nullptr) {
    const CompiledRegion& region = **trusted;
    const std::int64_t before = turn;
    const std::uint64_t exit = enter(region, region.trusted_entry, frame, pause, turn);
    judge(region, counter, before - turn);
    return left(region, exit, pause);
  }
  const CompiledRegion* first = program_.first(frame, block);
  if (first == nullptr) {
    const Wish wish = compile(frame, block, 0);
    if (wish != Wish::granted) {
      patience_[counter] = wish == Wish::refused ? kNotAgain : kPatience;
      return nullptr;
    }
    first = program_.first(frame, block);
  }
  for (const CompiledRegion* region = first; region != nullptr; region = region->next) {
    if (region->contains(join)) continue;
    if (!is_worth_trying(*region)) continue;
    const std::int64_t before = turn;
    const std::uint64_t exit = enter(*region, 0, frame, pause, turn);
    if (region->exits[exit].kind == ExitKind::refused) continue;
    ++fitting_[region->number].fits;
    has_rounds_ = has_rounds_ || region->rounds_entry != 0;
    if (begins && region->trusted_entry != 0) *trusted = region;
    judge(*region, counter, before - turn);
    return left(*region, exit, pause);
  }
  refuse(frame, block, counter);
  return nullptr;
}

/// The region that the warp enters without tests; null where none is known, or the warp has begun.
const CompiledRegion* Thread::known_beginning(const Warp& warp) const {
  if (!warp.begins()) return nullptr;
  const CompiledRegion* const region = trusted_[warp.index()];
  return region != nullptr && patience_[region->counter] == 0 ? region : nullptr;
}

/// The warp waits where it has left the region by exit `number`: goes on behind barriers for all
/// threads as long as it need not wait. Returns the last exit.
const Exit& Thread::cross_barriers(Block& block, Warp& warp, const CompiledRegion& region,
                                   std::uint64_t number) {
  CompiledPause& pause = warp.pause();
  for (;; number = call(region, region.exits[number].entry, warp.turn())) {
    state_.context->mask = kAllLanes;
    const Exit& exit = region.exits[number];
    const CompiledExit& at = exit.place;
    if (exit.kind != ExitKind::waits) return exit;
    pause.region = &region;
    pause.exit = number;
    if (!at.barrier) return exit;
    tell_ends(block);
    const CodeFunction& function = *warp.running_frame().function;
    if (!warp.full_barrier(function.blocks[at.block], function.code[at.index], *at.barrier)) {
      return exit;
    }
    pause.region = nullptr;
  }
}

/// The warp has left the region by exit `number`. Returns the exit by which it leaves at last.
inline const Exit& Thread::leave(Block& block, Warp& warp, const CompiledRegion& region,
                                 std::uint64_t number) {
  state_.context->mask = kAllLanes;
  const Exit* exit = &region.exits[number];
  if (exit->kind == ExitKind::waits) exit = &cross_barriers(block, warp, region, number);
  if (exit->place.spins) {
    warp.pause().region = &region;
    warp.pause().exit = static_cast<std::uint64_t>(exit - region.exits.data());
  }
  return *exit;
}

/// The end of a warp's turn. False: it has to go on by itself, or the launch is stopped.
bool Thread::end_turn(Block& block, Warp& warp, const CompiledRegion& region, const Exit& exit,
                      WarpsRun& result) {
  tell_ends(block);
  const bool in_time = warp.turn() >= 0;
  warp.end_turn();
  if (exit.kind == ExitKind::ends) {
    warp.end(*state_.worker);
    block.count_finished_warp();
    result.idle = false;
  } else if (exit.place.spins) {
    warp.spin(exit.place.block);
  } else if (exit.kind != ExitKind::waits || !exit.place.barrier) {
    if (exit.kind == ExitKind::failed) ++region.failures;
    warp.pause().taken = state_.taken;
    result.exit = &exit.place;
    return false;
  }
  result.idle = result.idle && (in_time || exit.place.spins);
  return block.count_turn(warp);
}

/// As many rounds of the whole block as there are, if its first warp is where rounds may begin.
/// Null: none has run.
const TurnRounds::End* Thread::run_rounds(Block& block) {
  Warp& first = block.warps()[0];
  const void* const at = first.pause().region;
  const CompiledRegion* const region =
      at != nullptr ? static_cast<const CompiledRegion*>(at) : known_beginning(first);
  if (first.live() == 0 || region == nullptr || region->rounds_entry == 0) return nullptr;
  const TurnRounds::End& end = rounds_.run(block, *region, first_place_, trusted_);
  if (!end.ran) return nullptr;
  if (end.begun != 0) {
    judge(*end.region, end.region->counter, end.instructions, end.begun);
  } else {
    trials_[end.region->counter].instructions += end.instructions;
  }
  return &end;
}

/// All regions that it enters have been entered before: nothing has to grow for them meanwhile.
WarpsRun Thread::run_warps(Block& block, std::size_t first) {
  std::vector<Warp>& warps = block.warps();
  prepare(block);
  WarpsRun result;
  std::size_t i = first;
  const CompiledRegion* in_turn = nullptr;  // the region in which a warp has its turn still
  std::uint64_t left_by = 0;                // ...which it has left by this exit
  if (first == 0 && has_rounds_) {
    if (const TurnRounds::End* const rounds = run_rounds(block)) {
      if (rounds->exit == 0) return {warps.size(), nullptr, rounds->idle};
      result.idle = rounds->idle;
      i = rounds->warp;
      in_turn = rounds->region;
      left_by = rounds->exit;
    }
  }
  for (; i < warps.size(); ++i) {
    Warp& warp = warps[i];
    if (warp.live() == 0) continue;
    const CompiledRegion* region = std::exchange(in_turn, nullptr);
    bool begins = false;
    std::int64_t before = warp.turn();
    if (region == nullptr) {
      CompiledPause& pause = warp.pause();
      begins = pause.region == nullptr;
      if (begins) {
        region = known_beginning(warp);
        if (region == nullptr) break;
      } else {
        if (!warp.may_resume()) continue;
        region = static_cast<const CompiledRegion*>(std::exchange(pause.region, nullptr));
      }
      const std::size_t entry = begins ? region->trusted_entry : region->exits[pause.exit].entry;
      const Frame& frame = begins ? warp.first_frame() : warp.running_frame();
      before = warp.begin_turn(*state_.worker, frame);
      switch_to(*region, frame, pause);
      left_by = call(*region, entry, warp.turn());
    }
    const Exit& exit = leave(block, warp, *region, left_by);
    if (begins) {
      judge(*region, region->counter, before - warp.turn());
    } else {
      trials_[region->counter].instructions += before - warp.turn();
    }
    if (exit.kind == ExitKind::ends && block.ends_unnoticed() &&
        (begins || warp.has_first_path())) {
      ++ended_;
      result.idle = false;
      if (!block.count_steps(warp.end_alone())) break;
    } else if (!end_turn(block, warp, *region, exit, result)) {
      break;
    }
  }
  tell_ends(block);
  result.next = i;
  return result;
}

const std::vector<FrameRange>* Thread::frame_resets() {
  if (frame_resets_ != nullptr) return frame_resets_;
  if (program_.is_early_block(early_blocks_)) return nullptr;
  frame_resets_ = &program_.frame_resets();
  return frame_resets_;
}

void Thread::deliver_sums(const BlockObserverSlots& observers) {
  for (const UsedEntry& used : used_) {
    const SumEntry entry = std::exchange(sums_[used.entry], {});
    for (const SummedAccess& access : used.group->accesses) {
      if (access.kind == AccessKind::async_load) continue;  // comes with the shared side
      const AccessSum sum = sum_of(access, *used.group, used.entry, entry.times);
      for (const BlockObserverSlot& slot : observers) {
        if ((slot.events & access_event(sum.space)) != 0) slot.observer->access_sum(sum);
      }
    }
  }
  used_.clear();
}

/// Counts a try. False where hardly any warp has fitted the region.
bool Thread::is_worth_trying(const CompiledRegion& region) {
  if (fitting_.size() <= region.number) fitting_.resize(region.number + 1);
  Fitting& fitting = fitting_[region.number];
  if (fitting.tries >= kFittingTries && fitting.fits < fitting.tries / kLeastFitting) return false;
  ++fitting.tries;
  return true;
}

/// No region fits: perhaps a further one does.
void Thread::refuse(const Frame& frame, std::uint32_t block, std::uint32_t counter) {
  Trial& trial = trials_[counter];
  if (++trial.refusals < kRefusals) return;
  trial.refusals = 0;
  if (compile(frame, block, program_.count(frame, block)) == Wish::refused) {
    patience_[counter] = kTrial;
  }
}

Wish Thread::compile(const Frame& frame, std::uint32_t block, std::size_t known) {
  const std::uint64_t executed = executed_since();
  return program_.compile(frame, state_, block, known,
                          sparing_ ? std::optional(executed) : std::nullopt);
}

/// Warp instructions since the last call.
std::uint64_t Thread::executed_since() {
  settle_counts();
  std::uint64_t sum = 0;
  for (const CodeFunction& function : program_.program().functions()) {
    for (const CodeBlock& block : function.blocks) {
      sum += state_.counters[block.counter].executed * block.size;
    }
  }
  return sum - std::exchange(executed_, sum);
}

/// A region that is left again at once, or whose checks fail, does not pay.
void Thread::judge(const CompiledRegion& region, std::uint32_t counter, std::int64_t instructions,
                   std::uint32_t runs) {
  Trial& trial = trials_[counter];
  trial.instructions += instructions;
  trial.runs += runs;
  if (trial.runs < kTrial) return;
  const auto least = static_cast<std::int64_t>(3 + region.assumed.size() / 3) * trial.runs;
  if (trial.instructions < least || region.failures.load() > kMostFailures) {
    patience_[counter] = kNotAgain;
  }
  trial.runs = 0;
  trial.instructions = 0;
}

class ProgramCode final : public CompiledCode {
 public:
  ProgramCode(const Program& program, AccessWatch watch) : program_(program, watch) {}
  std::unique_ptr<CompiledThread> thread(Worker& worker) override {
    return std::make_unique<Thread>(program_, worker, chosen_patience());
  }

 private:
  CompiledProgram program_;
};

}  // namespace
}  // namespace tilescope::emulator::compiled

namespace tilescope::emulator {

std::shared_ptr<CompiledCode> make_compiled_code(const Program& program, AccessWatch watch) {
  if (lane_kernels("v3") == nullptr) return nullptr;
  return std::make_shared<compiled::ProgramCode>(program, watch);
}

}  // namespace tilescope::emulator
