// Splitting, meeting, calling, returning and leaving of a warp's paths.
#include <algorithm>
#include <bit>
#include <cstring>

#include "emulator/address_space.hpp"
#include "emulator/block.hpp"
#include "emulator/builtins.hpp"
#include "emulator/launch_state.hpp"
#include "emulator/warp.hpp"

namespace tilescope::emulator {
namespace {

/// The depth of a thread's nested calls; on the chip its stack memory limits them.
constexpr std::uint32_t kMostActivations = 2048;

std::uint8_t* lane_bytes(std::uint8_t* frame, const ParameterSlot& slot, int lane) {
  return frame + slot.offset + static_cast<unsigned>(lane) * slot.bytes;
}

/// Parameter storage is little-endian bytes per lane, and so is a register's
/// lane (but for 128 bits, whose halves lie apart). A predicate is one bit per
/// lane.
void copy_parameter(std::uint8_t* to_frame, const ParameterSlot& to, std::uint8_t* from_frame,
                    const ParameterSlot& from, LaneMask mask) {
  if (to.is_predicate() && from.is_predicate()) {
    auto& bits = *reinterpret_cast<LaneMask*>(to_frame + to.offset);
    bits = (bits & ~mask) | (*reinterpret_cast<LaneMask*>(from_frame + from.offset) & mask);
    return;
  }
  if (to.in_register && from.in_register && to.bytes == 16) {
    for (const std::uint32_t half : {0, 8 * kWarpSize}) {
      copy_parameter(to_frame, {to.offset + half, 8, true}, from_frame,
                     {from.offset + half, 8, true}, mask);
    }
    return;
  }
  for (LaneMask m = mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    std::uint8_t* const at = lane_bytes(to_frame, to, lane);
    if (to.in_register) std::memset(at, 0, to.bytes);
    std::memcpy(at, lane_bytes(from_frame, from, lane), std::min(to.bytes, from.bytes));
  }
}

}  // namespace

void Warp::end_path() {
  paths_.erase(paths_.begin() + static_cast<std::ptrdiff_t>(current_));
  current_ = paths_.size();
}

/// All lanes that the join expects have arrived: they continue together.
void Warp::resume(Join& join) {
  paths_.push_back(
      {.mask = join.arrived, .block = join.resume, .frame = join.frame, .join = join.parent});
  current_ = paths_.size() - 1;
  if (join.callee != nullptr) free_frame(join.callee);
  free_join(&join);
}

/// The current path has reached its join.
void Warp::arrive() {
  Join& join = *paths_[current_].join;
  join.arrived |= paths_[current_].mask;
  end_path();
  if (join.arrived == join.expected) resume(join);
}

/// Called after lanes below `join` have left: joins that expect no lanes vanish, and the first with
/// all its lanes continues.
void Warp::settle(Join* join) {
  while (join != nullptr && join->expected == 0) {
    Join* parent = join->parent;
    if (join->callee != nullptr) free_frame(join->callee);
    free_join(join);
    join = parent;
  }
  if (join != nullptr && join->arrived == join->expected) resume(*join);
}

bool Warp::break_join(LaneMask lanes) {
  for (const Path& path : paths_) {
    for (Join* join = path.join; join != nullptr; join = join->parent) {
      if ((join->arrived & lanes) == 0) continue;
      join->expected &= ~join->arrived;
      const LaneMask free = join->arrived;
      join->arrived = 0;
      paths_.push_back(
          {.mask = free, .block = join->resume, .frame = join->frame, .join = join->parent});
      return true;
    }
  }
  return false;
}

void Warp::leave(Worker& worker, LaneMask mask) {
  if (leave_as_last(mask)) return;
  Path& path = paths_[current_];
  Join* const innermost = path.join;
  for (Join* join = innermost; join != nullptr; join = join->parent) join->expected &= ~mask;
  path.mask &= ~mask;
  if (path.mask == 0) {
    end_path();
    settle(innermost);
  }
  // Other paths may have waited for these lanes.
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    if (paths_[i].state == PathState::collective &&
        try_collective(worker, paths_[i].members, false)) {
      i = static_cast<std::size_t>(-1);
    }
  }
  block_->lanes_left(index_, mask, live_);
}

/// Only the lanes `stays` of the current path continue in it; the others go to block `others`,
/// where both meet again.
void Warp::part(LaneMask stays, std::uint32_t others) {
  Path& path = paths_[current_];
  if (stays == path.mask) return;
  const LaneMask rest = path.mask & ~stays;
  if (path.join->block != others) {
    path.join = new_join({.parent = path.join,
                          .frame = path.frame,
                          .block = others,
                          .resume = others,
                          .expected = path.mask});
  }
  path.join->arrived |= rest;
  path.mask = stays;
}

void Warp::branch(const CodeBlock& block, LaneMask taken) {
  Path& path = paths_[current_];
  const LaneMask not_taken = path.mask & ~taken;
  if (block.reconverge != kNone && block.reconverge != path.join->block) {
    path.join = new_join({.parent = path.join,
                          .frame = path.frame,
                          .block = block.reconverge,
                          .resume = block.reconverge,
                          .expected = path.mask});
  }
  Join& join = *path.join;
  if (block.target == join.block) {
    join.arrived |= taken;
    path.mask = not_taken;
    path.block = block.next;
    return;
  }
  if (block.next == join.block) {
    join.arrived |= not_taken;
    path.mask = taken;
    path.block = block.target;
    return;
  }
  // Both sides run: the lanes that go back in a loop first, else those that
  // fall through.
  Path other = path;
  path.mask = block.backward ? taken : not_taken;
  path.block = block.backward ? block.target : block.next;
  other.mask = block.backward ? not_taken : taken;
  other.block = block.backward ? block.next : block.target;
  paths_.push_back(other);
}

void Warp::branch_indexed(Worker& worker, const CodeBlock& block, const Code& code) {
  Context& w = worker.context;
  const std::uint32_t* index = r32(w, code.a);
  const auto& table = paths_[current_].frame->function->jump_tables[code.aux];
  const LaneMask mask = paths_[current_].mask;
  // An index beyond the table is undefined; the last entry is a valid choice.
  const auto target = [&](int lane) {
    return table.empty() ? block.next : table[std::min<std::size_t>(index[lane], table.size() - 1)];
  };
  bool first = true;
  for (LaneMask rest = mask; rest != 0;) {
    const std::uint32_t to = target(std::countr_zero(rest));
    LaneMask same = 0;
    for (LaneMask m = rest; m != 0; m &= m - 1) {
      const int lane = std::countr_zero(m);
      if (target(lane) == to) same |= LaneMask{1} << lane;
    }
    if (first && (w.events & (kBranches | kDivergence)) != 0)
      announce({code.id, index_, mask, same});
    if (same == mask) {
      paths_[current_].block = to;
      return;
    }
    if (first && block.reconverge != kNone && block.reconverge != paths_[current_].join->block) {
      paths_[current_].join = new_join({.parent = paths_[current_].join,
                                        .frame = paths_[current_].frame,
                                        .block = block.reconverge,
                                        .resume = block.reconverge,
                                        .expected = mask});
    }
    // The current path takes the first way; a lane at the meeting point arrives
    // when it is run.
    Path& current = paths_[current_];
    if (first) {
      current.mask = same;
      current.block = to;
    } else {
      Path other = current;
      other.mask = same;
      other.block = to;
      paths_.push_back(other);
    }
    first = false;
    rest &= ~same;
  }
}

bool Warp::call(Worker& worker, const CodeBlock& block, const Code& code, LaneMask mask) {
  part(mask, block.next);
  const Frame& frame = *paths_[current_].frame;
  const CallCode& call = frame.function->calls[code.aux];
  if (call.builtin != Builtin::none) {
    worker.context.mask = mask;
    paths_[current_].block = block.next;
    return run_builtin(worker.context, code, call, mask);
  }
  if (call.target == kNone) return enter(worker, code, call, call.callee, mask, block.next);
  // Through a pointer: lanes with the same target call together, the others call afterwards (this
  // block holds nothing but the call).
  const std::uint64_t* targets = r64(worker.context, call.target);
  const std::uint64_t target = targets[std::countr_zero(mask)];
  LaneMask same = 0;
  for (LaneMask m = mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    if (targets[lane] == target) same |= LaneMask{1} << lane;
  }
  if (same != mask) {
    const std::uint32_t here = paths_[current_].block;
    part(same, block.next);
    Path others = paths_[current_];
    others.join->arrived &= ~(mask & ~same);
    others.mask = mask & ~same;
    others.block = static_cast<std::uint32_t>(&block - frame.function->blocks.data());
    paths_.push_back(others);
    paths_[current_].block = here;
  }
  const std::uint32_t callee = block_->launch().program().function_at(target);
  if (callee == kNone) {
    block_->report({.kind = FaultKind::bad_call,
                    .instruction = code.id,
                    .warp = index_,
                    .lanes = same,
                    .space = Space::global,
                    .access = AccessKind::load,
                    .bytes = 0,
                    .address = target,
                    .object = {},
                    .object_bytes = 0,
                    .distance = 0,
                    .addresses = nullptr});
    paths_[current_].block = block.next;
    return true;
  }
  return enter(worker, code, call, callee, same, block.next);
}

bool Warp::enter(Worker& worker, const Code& code, const CallCode& call, std::uint32_t callee,
                 LaneMask mask, std::uint32_t next) {
  LaunchState& launch = block_->launch();
  const CodeFunction& function = launch.program().functions()[callee];
  Path& path = paths_[current_];
  auto frame = std::make_unique<Frame>();
  frame->function = &function;
  frame->index = callee;
  frame->caller = path.frame;
  frame->call = &call;
  frame->local_base = path.frame->local_top;
  frame->local_top = frame->local_base + function.local_bytes;
  frame->depth = path.frame->depth + 1;
  if (frame->depth > kMostActivations || frame->local_top > block_->local_stride() ||
      !block_->take_frame(function.image.size())) {
    block_->trap(index_, std::countr_zero(mask), code.id, TrapReason::call_depth,
                 "calls nested too deep (the limit is 2,048 activations and "
                 "the thread's stack)");
    return false;
  }
  frame->storage = allocate_aligned(function.image.size());
  frame->registers = frame->storage.get();
  std::memcpy(frame->registers, function.image.data(), function.image.size());
  launch.fill_specials(function, frame->registers, block_->linear(), index_, frame->local_base);
  const std::size_t count = std::min(call.arguments.size(), function.parameters.size());
  for (std::size_t i = 0; i < count; ++i) {
    copy_parameter(frame->registers, function.parameters[i], path.frame->registers,
                   call.arguments[i], mask);
  }
  if ((worker.context.events & kFrames) != 0) {
    const FrameEntry event{index_, mask, callee, frame->local_base, function.local_bytes};
    for (const auto& slot : block_->observers()) {
      if ((slot.events & kFrames) != 0) slot.observer->frame_entry(event);
    }
  }
  path.join = new_join({.parent = path.join,
                        .frame = path.frame,
                        .resume = next,
                        .expected = mask,
                        .callee = frame.get()});
  path.mask = mask;
  path.frame = frame.get();
  path.block = 0;
  frames_.push_back(std::move(frame));
  return true;
}

void Warp::do_return(LaneMask mask, std::uint32_t next) {
  Path& path = paths_[current_];
  const Frame& frame = *path.frame;
  const std::size_t count = std::min(frame.call->returns.size(), frame.function->returns.size());
  for (std::size_t i = 0; i < count; ++i) {
    copy_parameter(frame.caller->registers, frame.call->returns[i], frame.registers,
                   frame.function->returns[i], mask);
  }
  Join* const innermost = path.join;
  Join* join = innermost;
  for (; join->callee != path.frame; join = join->parent) join->expected &= ~mask;
  join->arrived |= mask;
  path.mask &= ~mask;
  path.block = next;
  if (path.mask != 0) return;
  end_path();
  settle(innermost);
}

}  // namespace tilescope::emulator
