// A warp from its start to its end: how its paths run.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "emulator/block.hpp"
#include "emulator/launch_state.hpp"
#include "emulator/warp.hpp"

namespace tilescope::emulator {
void Warp::join(Block& block, std::uint32_t index, LaneMask existing, std::uint8_t* registers) {
  block_ = &block;
  index_ = index;
  existing_ = existing;
  local_ = block.local(index);
  const CodeFunction& kernel = block.launch().program().functions()[0];
  root_.function = &kernel;
  root_.registers = registers;
  root_.local_top = kernel.local_bytes;
}

Join* Warp::new_join(const Join& join) {
  if (free_joins_.empty()) {
    joins_.push_back(std::make_unique<Join>());
    free_joins_.push_back(joins_.back().get());
  }
  Join* result = free_joins_.back();
  free_joins_.pop_back();
  *result = join;
  return result;
}

void Warp::free_join(Join* join) {
  if (join != &root_join_) free_joins_.push_back(join);
}

void Warp::free_frame(Frame* frame) {
  for (std::size_t i = frames_.size(); i-- > 0;) {
    if (frames_[i].get() != frame) continue;
    block_->give_frame(frame->function->image.size());
    frames_.erase(frames_.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

bool Warp::can_run() const {
  const std::span<const Path> paths = this->paths();
  return std::any_of(paths.begin(), paths.end(),
                     [](const Path& path) { return path.state == PathState::ready; });
}

/// The current path if it can run, else the youngest that can.
bool Warp::pick() {
  if (current_ < paths_.size() && paths_[current_].state == PathState::ready) return true;
  for (std::size_t i = paths_.size(); i-- > 0;) {
    if (paths_[i].state != PathState::ready) continue;
    current_ = i;
    return true;
  }
  return false;
}

/// Passes the turn to another path that can run, or to any with a schedule.
void Warp::rotate(std::optional<Schedule>& schedule) {
  if (schedule && paths_.size() > 1) current_ = schedule->below(paths_.size());
  for (std::size_t i = 1; i < paths_.size(); ++i) {
    const std::size_t next = (current_ + i) % paths_.size();
    if (paths_[next].state != PathState::ready) continue;
    current_ = next;
    return;
  }
}

const Frame* Warp::frame_of(int lane) const {
  for (const Path& path : paths()) {
    if ((path.mask >> lane & 1) != 0) return path.frame;
  }
  return nullptr;  // it waits at a join
}

Stop Warp::run(Worker& worker, const CompiledExit* exit) {
  bool interpret = false;  // there is no compiled code for the first block
  if (exit == nullptr) {
    const bool begins = this->begins();
    begin_turn(worker, current_ < paths_.size() ? *paths_[current_].frame : root_);
    if (begins && worker.compiled != nullptr) {
      exit = run_compiled(worker, 0);
      interpret = exit == nullptr;
    }
  } else if (pause_.region != nullptr) {
    exit = cross_barriers(worker, exit);
  }
  end_turn();
  if (pause_.region != nullptr && exit != nullptr) {
    count_spin();
    return Stop::spinning;
  }
  if (pause_.region != nullptr) return turn_ < 0 ? Stop::yielded : Stop::blocked;
  if (exit != nullptr && exit->ends) leave(worker, kAllLanes);
  for (;;) {
    if (paths_.empty()) return Stop::finished;
    if (!pick()) return Stop::blocked;
    path_turn_ = turn_;
    const Stop stop =
        run_path(worker, std::exchange(exit, nullptr), std::exchange(interpret, false));
    steps_ += path_turn_ - turn_;
    path_turn_ = turn_;
    if (stop == Stop::blocked) {  // this path only
      if (turn_ < 0 && !paths_.empty()) return Stop::yielded;
      continue;
    }
    if (stop == Stop::spinning && count_spin()) break_join(kAllLanes);
    if (stop != Stop::aborted) rotate(worker.schedule);
    return stop;
  }
}

/// Runs compiled code from the begin of block `b` of the current path, which has all lanes.
/// Null: the interpreter runs the block, unless the warp now waits (pause_). It may have paused
/// also with an exit: then it spins.
const CompiledExit* Warp::run_compiled(Worker& worker, std::uint32_t b) {
  const Path& path = paths_[current_];
  if (!worker.compiled->is_due(path.frame->function->blocks[b].counter)) return nullptr;
  const CompiledExit* const exit =
      worker.compiled->run(*path.frame, b, path.join->block, pause_, turn_);
  return pause_.region == nullptr ? exit : cross_barriers(worker, exit);
}

/// The current path has left compiled code at a barrier, at `exit`: it goes on there as long as it
/// need not wait. Null: it waits. If it has paused at the exit returned, it spins.
const CompiledExit* Warp::cross_barriers(Worker& worker, const CompiledExit* exit) {
  const Frame& frame = *paths_[current_].frame;
  const CodeFunction& function = *frame.function;
  while (pause_.region != nullptr) {
    if (exit->spins) {
      paths_[current_].block = exit->block;
      return exit;
    }
    worker.context.mask = kAllLanes;
    const CodeBlock& block = function.blocks[exit->block];
    const Code& code = function.code[exit->index];
    const bool goes_on = exit->barrier ? full_barrier(block, code, *exit->barrier)
                                       : barrier(worker, block, code, kAllLanes);
    if (!goes_on) return nullptr;
    exit = worker.compiled->resume(frame, pause_, turn_);
  }
  return exit;
}

/// The lanes of the current path that have left compiled code there, if others have parted from
/// them inside.
LaneMask Warp::part_as(const CompiledExit& exit) {
  for (std::size_t i = 0; i < exit.parted_at.size() && exit.parted_at[i] != kNone; ++i) {
    branch(paths_[current_].frame->function->blocks[exit.parted_at[i]], pause_.taken[i]);
  }
  return paths_[current_].mask;
}

void Warp::begin_block(Worker& worker, const CodeBlock& block, LaneMask mask) {
  BlockCounter& counter = worker.counters[block.counter];
  ++counter.executed;
  counter.absent += lane_count(~mask);
  turn_ -= block.size;
}

/// Those of `mask` whose guard holds. Counts them.
LaneMask Warp::lanes_on(Worker& worker, const Code& code, LaneMask mask) {
  if (code.guard == kNone) return mask;
  const LaneMask on = mask & (predicate(worker.context, code.guard) ^ code.guard_flip);
  worker.lanes_on[code.id] += lane_count(on);
  return on;
}

/// Runs straight-line code.
void Warp::run_body(Worker& worker, const Code* code, const Code* end, LaneMask mask) {
  Context& w = worker.context;
  w.active = mask;
  for (; code != end; ++code) {
    w.mask = lanes_on(worker, *code, mask);
    if (w.mask != 0) code->execute(w, *code);
  }
}

/// Runs the current path until it ends, waits or yields (blocked: another path may run). `exit`:
/// where it has left compiled code; null: it has not. `interpret`: its first block has no compiled
/// code.
Stop Warp::run_path(Worker& worker, const CompiledExit* exit, bool interpret) {
  Context& w = worker.context;
  const CodeFunction* function = nullptr;
  std::uint32_t b = 0;
  LaneMask mask = 0;
  // Reloads the loop's registers after anything that may have changed the path.
  const auto reload = [&] {
    const Path& path = paths_[current_];
    function = path.frame->function;
    bind(worker, *path.frame);
    w.live = live_;
    b = path.block;
    mask = path.mask;
  };
  reload();
  std::uint32_t resumed = b;  // where it may have paused
  for (;;) {
    if (b == paths_[current_].join->block) [[unlikely]] {
      paths_[current_].block = b;
      arrive();
      return Stop::blocked;
    }
    if (function->blocks[b].pause && b != std::exchange(resumed, kNone) &&
        worker.schedule->pauses(pace_)) {
      return stop_at(b, Stop::yielded);
    }
    if (exit == nullptr && !std::exchange(interpret, false) && mask == kAllLanes &&
        worker.compiled != nullptr) {
      exit = run_compiled(worker, b);
      if (pause_.region != nullptr) return exit != nullptr ? Stop::spinning : Stop::blocked;
    }
    const CompiledExit* const left = std::exchange(exit, nullptr);
    if (left != nullptr && left->ends) {
      leave(worker, kAllLanes);
      return Stop::blocked;
    }
    if (left != nullptr) {
      mask = part_as(*left);
      b = left->block;
      if (left->yields) return stop_at(b, Stop::yielded);
      if (!left->inside) continue;
    }
    const CodeBlock& block = function->blocks[b];
    if (left == nullptr) begin_block(worker, block, mask);
    const Code* const begin = function->code.data() + (left != nullptr ? left->index : block.begin);
    const Code* const code = function->code.data() + block.body_end;
    run_body(worker, begin, code, mask);
    if (block.end == BlockEnd::fall_through) {
      b = block.next;
      continue;
    }
    const LaneMask on = w.mask = lanes_on(worker, *code, mask);
    if (block.end == BlockEnd::branch) {
      if (code->guard != kNone && (w.events & (kBranches | kDivergence)) != 0) {
        announce({code->id, index_, mask, on});
      }
      if (on == mask) {
        b = block.target;
      } else if (on == 0) {
        b = block.next;
        continue;
      } else {
        branch(block, on);
        reload();
      }
      if (block.backward && (block.spin || turn_ < 0)) {
        return stop_at(b, block.spin ? Stop::spinning : Stop::yielded);
      }
    } else if (on == 0) {
      b = block.next;
    } else {
      const std::optional<Stop> stop = end_block(worker, block, *code, on);
      if (stop) return *stop;
      reload();
    }
  }
}

void Warp::announce(const Branch& event) const {
  const std::uint32_t wanted = event.divergent() ? kBranches | kDivergence : kBranches;
  for (const auto& slot : block_->observers()) {
    if ((slot.events & wanted) != 0) slot.observer->branch(event);
  }
}

/// The lanes `on` of the current path run what ends the block, unless that is a branch. Nothing:
/// the path goes on.
std::optional<Stop> Warp::end_block(Worker& worker, const CodeBlock& block, const Code& code,
                                    LaneMask on) {
  const Path& path = paths_[current_];
  const bool all = on == path.mask;
  switch (block.end) {
    case BlockEnd::branch_indexed:
      part(on, block.next);
      branch_indexed(worker, block, code);
      if (turn_ < 0) return Stop::yielded;
      break;
    case BlockEnd::collective:
      if (!collective(worker, block, code, on)) return Stop::blocked;
      break;
    case BlockEnd::barrier:
      if (!barrier(worker, block, code, on)) return Stop::blocked;
      break;
    case BlockEnd::cluster_barrier:
      if (!cluster_barrier(block, code, on)) return Stop::blocked;
      break;
    case BlockEnd::product_wait:
      if (!product_wait(block, code, on)) return Stop::blocked;
      break;
    case BlockEnd::call:
      if (!call(worker, block, code, on)) return Stop::aborted;
      if (turn_ < 0) return Stop::yielded;
      break;
    case BlockEnd::ret:
      if (path.frame->caller != nullptr) {
        do_return(on, block.next);
        if (all) return Stop::blocked;
        break;
      }
      [[fallthrough]];
    case BlockEnd::exit:
      paths_[current_].block = block.next;
      leave(worker, on);
      if (all) return Stop::blocked;
      break;
    case BlockEnd::trap:
      block_->trap(index_, std::countr_zero(on), code.id, TrapReason::trap, "trap");
      return Stop::aborted;
    case BlockEnd::yield:
      paths_[current_].block = block.next;
      return Stop::spinning;
    case BlockEnd::branch:
    case BlockEnd::fall_through:
      break;
  }
  return std::nullopt;
}

}  // namespace tilescope::emulator
