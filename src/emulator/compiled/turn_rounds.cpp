#include "emulator/compiled/turn_rounds.hpp"

#include <bit>
#include <utility>

#include "emulator/compiled/runtime_calls.hpp"

namespace tilescope::emulator::compiled {
namespace {

constexpr std::uint32_t kTrials = 16;     // of the rounds of a region
constexpr std::uint32_t kRetrial = 4;     // blocks without rounds before a further one
constexpr std::uint64_t kLeastTurns = 3;  // of two warps, in each on average

}  // namespace

/// Blocks at the edges of a grid, such as the first ones, may be unlike all others, so blocks that
/// begin are tried again.
bool TurnRounds::is_worth(bool begins) {
  if (worth_.size() <= region_->number) return true;
  Worth& worth = worth_[region_->number];
  return worth.times < kTrials || 2 * worth.turns >= kLeastTurns * worth.warps ||
         (begins && ++worth.refused % kRetrial == 0);
}

/// False where the warp is in no region with rounds, or at another barrier.
bool TurnRounds::add(Warp& warp, const CompiledRegion* beginning) {
  Rounds& rounds = state_.rounds;
  CompiledPause& pause = warp.pause();
  const bool begins = pause.region == nullptr;
  const auto* const region = begins ? beginning : static_cast<const CompiledRegion*>(pause.region);
  if (region == nullptr || region->rounds_entry == 0 ||
      region->round_barrier != region_->round_barrier) {
    return false;
  }
  RoundWarp& entry = warps_[warp.index()];
  entry.region = region;
  if (begins) {
    if (!warp.begins()) return false;
    if (pause.numbers.size() < region->slots) pause.numbers.resize(region->slots);
    entry.entry = entry.beginning = region->address(region->trusted_inner);
    entry.frame = warp.first_frame().registers;
    entry.exit = 0;
    know_block_ = know_block_ && region->knows_block;
    ++begun_;
  } else {
    const CompiledExit& at = region->exits[pause.exit].place;
    if (!at.spins && at.barrier != region_->round_barrier) return false;
    entry.entry = region->address(region->exits[pause.exit].inner);
    entry.frame = warp.running_frame().registers;
    entry.exit = static_cast<std::uint32_t>(pause.exit);
    if (!warp.may_resume()) rounds.waiting |= entry.bit;
  }
  if (begins || warp.has_first_path()) ends_ |= entry.bit;
  entry.spins = warp.spins();
  entry.slots = pause.numbers.data() + kSlotsBefore;
  rounds.live |= entry.bit;
  return true;
}

/// True where all live warps are at the begin of a region or at a barrier, and some can go on.
bool TurnRounds::begin(Block& block, std::uint64_t first_place,
                       std::span<const CompiledRegion* const> beginnings) {
  const LaunchState& launch = block.launch();
  std::vector<Warp>& warps = block.warps();
  const bool begins = warps[0].begins();
  const bool has_barrier = region_->round_barrier != kNoBarrier;
  if (!has_barrier && !(begins && block.may_become_next())) return false;
  if (!is_worth(begins) || warps.size() > warps_.size() || (state_.context->events & kOrder) != 0 ||
      launch.setup().options.max_instructions != 0) {
    return false;
  }
  Rounds& rounds = state_.rounds;
  rounds.live = rounds.waiting = 0;
  begun_ = 0;
  ends_ = 0;
  whole_ = 0;
  blocks_ = 1;
  know_block_ = true;
  for (std::size_t i = 0; i < warps.size(); ++i) {
    if (warps[i].live() == 0) continue;
    RoundWarp& entry = warps_[i];
    entry.bit = std::uint32_t{1} << i;
    entry.above = ~(entry.bit | (entry.bit - 1));
    entry.place = first_place + i;
    if (!add(warps[i], beginnings[i])) return false;
  }
  return (rounds.live & ~rounds.waiting) != 0 &&
         (!has_barrier ||
          block.has_only_barrier(static_cast<std::uint8_t>(region_->round_barrier)));
}

/// The warp is where it was last, at or behind a barrier; nowhere if it has not begun. `left`: it
/// has left the region behind that, with all its registers in the frame.
void TurnRounds::stay(Warp& warp, const RoundWarp& entry, bool left) {
  if (entry.exit == 0) return;
  const CodeFunction& function = *warp.running_frame().function;
  const CompiledRegion::Exit& exit = entry.region->exits[entry.exit];
  const CompiledExit& at = exit.place;
  warp.begin_late();
  if (at.spins) {
    state_.frame = entry.frame;
    state_.slots = entry.slots;
    if (!left) entry.region->entry(exit.settle)(&state_);
    warp.stay_in_loop(at.block, entry.spins);
    return;
  }
  warp.stay_at_barrier(function.blocks[at.block], function.code[at.index],
                       static_cast<std::uint8_t>(state_.rounds.barrier),
                       (state_.rounds.waiting & entry.bit) != 0);
}

/// The warp that has its turn leaves by this exit. True where it ends, and nothing depends on when.
bool TurnRounds::end_warp(Block& block, std::uint64_t exit) {
  Rounds& rounds = state_.rounds;
  const RoundWarp& entry = *rounds.current;
  Warp& warp = block.warps()[static_cast<std::size_t>(&entry - warps_.data())];
  if (entry.region->exits[exit].kind != ExitKind::ends || rounds.waiting != 0 ||
      !block.ends_unnoticed() || !warp.has_first_path()) {
    return false;
  }
  rounds.steps += rounds.longest - state_.turn;
  rounds.live &= ~entry.bit;
  return true;
}

/// Notes whether the rounds of the blocks have paid.
void TurnRounds::note_worth() {
  if (worth_.size() <= region_->number) worth_.resize(region_->number + 1);
  const auto warps = static_cast<std::uint64_t>(std::popcount(live_));
  Worth& worth = worth_[region_->number];
  worth.times += blocks_;
  worth.warps += warps;
  worth.turns += whole_ * warps;
  while (worth.times >= 2 * kTrials) {  // older ones count less
    worth = {worth.times / 2, worth.refused, worth.warps / 2, worth.turns / 2};
  }
}

/// All warps have begun and ended in these rounds, so that none knows of it yet: the next block
/// begins in the place of this one, with the same warps. False, and nothing has changed, where it
/// does not.
bool TurnRounds::follow(Block& block) {
  Rounds& rounds = state_.rounds;
  if (!all_begin_ || rounds.live != 0 || result_.exit != 0 || !block.become_next(!know_block_)) {
    return false;
  }
  ++blocks_;
  for (std::uint32_t rest = live_; rest != 0; rest &= rest - 1) {
    RoundWarp& entry = warps_[static_cast<std::size_t>(std::countr_zero(rest))];
    entry.entry = entry.beginning;
    entry.exit = entry.spins = 0;
  }
  begun_ += static_cast<std::uint32_t>(block.warps().size());
  rounds.live = live_;
  return true;
}

/// The block and its warps hear where they are. `left` has left the region in its turn; null: none.
void TurnRounds::end(Block& block, const RoundWarp* left) {
  Rounds& rounds = state_.rounds;
  note_worth();
  if (rounds.live != 0) block.fill_frames();
  rounds.current = nullptr;
  for (std::uint32_t rest = live_; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(rest));
    const RoundWarp& entry = warps_[i];
    Warp& warp = block.warps()[i];
    if ((rounds.live & entry.bit) == 0) {
      warp.begin_late();
      warp.pause().region = nullptr;
      warp.end_alone();
      continue;
    }
    stay(warp, entry, &entry == left);
    if (&entry == left) warp.begin_late();
    warp.pause().region = &entry == left || entry.exit == 0 ? nullptr : entry.region;
    warp.pause().exit = entry.exit;
  }
  if (left != nullptr) {
    state_.frame = left->frame;
    state_.slots = left->slots;
  }
  if (live_ != rounds.live) {
    block.count_ended_warps(static_cast<std::uint32_t>(std::popcount(live_ & ~rounds.live)));
  }
  if (rounds.completions != 0 || rounds.waiting != 0) {
    block.pass_barrier(static_cast<std::uint8_t>(rounds.barrier), rounds.completions,
                       rounds.waiting);
    block.begin_round(rounds.completions - rounds.first_completions);
  }
  rounds.barrier = kNoBarrier;
  rounds.ends = 0;
}

/// The first round of a block begins. `follows`: the block before had rounds, too.
void TurnRounds::start(Block& block, bool follows) {
  Rounds& rounds = state_.rounds;
  rounds.completions = 0;
  rounds.steps = 0;
  block.numbers(state_.block_numbers);
  // No warp has heard of a turn since the block before began, unless bind_context was called.
  for (std::uint32_t rest = follows && rounds.ends != 0 ? 0 : rounds.live; rest != 0;
       rest &= rest - 1) {
    block.warps()[static_cast<std::size_t>(std::countr_zero(rest))].begin_round(rounds.longest);
  }
  rounds.ends = block.ends_unnoticed() ? ends_ : 0;
  Context& w = *state_.context;
  w.active = w.mask = w.live = kAllLanes;
  live_ = rounds.live;
}

/// Rounds of a block, until a warp leaves in its turn, or the last one that there is for now.
void TurnRounds::run_block(Block& block) {
  Rounds& rounds = state_.rounds;
  for (bool goes_on = true; goes_on;) {
    rounds.first_completions = rounds.completions;
    rounds.first_live = rounds.live;
    rounds.limit = block.steps_to_go();
    rounds.ready = rounds.live & ~rounds.waiting;
    do {
      const std::uint64_t exit = region_->entry(region_->rounds_entry)(&state_);
      if (exit == 0) continue;
      take_back(state_, *rounds.current->region, exit);
      if (!end_warp(block, exit)) result_.exit = exit;
    } while (result_.exit == 0 && rounds.ready != 0 && !block.launch().stopped());
    result_.instructions += rounds.steps;
    result_.idle = rounds.live == rounds.first_live;
    const bool counted = block.count_steps(std::exchange(rounds.steps, 0));
    if (rounds.whole != 0) block.passes_round(false);
    whole_ += std::exchange(rounds.whole, 0);
    if (result_.exit != 0 || !counted) break;
    ++whole_;
    // The last round is that of Block::run_turns, which looks at it itself.
    goes_on = (rounds.live & ~rounds.waiting) != 0 && !block.has_run_long() &&
              block.passes_round(result_.idle && rounds.completions == rounds.first_completions);
  }
}

const TurnRounds::End& TurnRounds::run(Block& block, const CompiledRegion& region,
                                       std::uint64_t first_place,
                                       std::span<const CompiledRegion* const> beginnings) {
  region_ = &region;
  result_ = {};
  if (!begin(block, first_place, beginnings)) return result_;
  Rounds& rounds = state_.rounds;
  rounds.warps = warps_.data();
  rounds.barrier = region.round_barrier;
  rounds.longest = block.launch().turn(*state_.worker);
  result_.ran = true;
  result_.region = region_;
  all_begin_ = begun_ == block.warps().size();
  start(block, false);
  run_block(block);
  while (follow(block)) {
    start(block, true);
    run_block(block);
  }
  const RoundWarp* const left = result_.exit != 0 ? rounds.current : nullptr;
  if (left != nullptr) {
    result_.warp = static_cast<std::size_t>(left - warps_.data());
    result_.region = left->region;
    block.warps()[result_.warp].turn() = state_.turn;
    bind_context(state_);
  }
  end(block, left);
  result_.begun = begun_;
  return result_;
}

}  // namespace tilescope::emulator::compiled
