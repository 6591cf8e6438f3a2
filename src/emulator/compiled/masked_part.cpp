#include "emulator/compiled/masked_part.hpp"

namespace tilescope::emulator::compiled {
namespace {

constexpr std::int32_t kMostInstructions = 300;  // of a part

bool only_leaves(const FunctionPlan& plan, std::uint32_t b) {
  return plan.ends_warp(b) && plan.blocks()[b].size == 1;
}

/// The one block behind `b` that all lanes go on to; kNone: there is none.
std::uint32_t only_next(const FunctionPlan& plan, std::uint32_t b) {
  const CodeBlock& block = plan.blocks()[b];
  if (block.end == BlockEnd::fall_through) return block.next;
  const bool jumps = block.end == BlockEnd::branch && !block.backward &&
                     plan.function().code[block.body_end].guard == kNone;
  return jumps ? block.target : kNone;
}

/// The blocks from `first` to the one before `end` lead to each other, forward, or to `join`,
/// however lanes go; the last one may be that of the part's branch, or a copy of it.
bool is_closed(const FunctionPlan& plan, const MaskedPart& part, std::uint32_t first,
               std::uint32_t end) {
  for (std::uint32_t b = first; b < end; ++b) {
    const CodeBlock& block = plan.blocks()[b];
    if (part.loop && b == part.branch) continue;
    if (part.is_copy && b + 1 == end) continue;
    if (block.end != BlockEnd::fall_through && block.end != BlockEnd::branch) return false;
    for (const std::uint32_t next : plan.successors(b)) {
      if (next != part.join && (next <= b || next >= end)) return false;
    }
  }
  return true;
}

/// Where the lanes of the branch meet, and which side runs a part before; the rest is empty.
std::optional<MaskedPart> begin_of_part(const FunctionPlan& plan, std::uint32_t b) {
  const CodeBlock& block = plan.blocks()[b];
  if (block.end != BlockEnd::branch || block.spin ||
      plan.function().code[block.body_end].guard == kNone) {
    return std::nullopt;
  }
  const RegisterSet none(plan.registers().size());
  MaskedPart part{.branch = b, .join = block.reconverge, .written = none, .kept = none};
  part.loop = block.backward && block.target <= b;
  part.is_copy = block.backward && !part.loop;
  if (block.reconverge != kNone) {
    part.if_taken = block.next == block.reconverge;
    if (!part.if_taken && block.target != block.reconverge) return std::nullopt;
  } else {
    // The interpreter runs the lanes first that do not take the branch.
    part.join = block.target;
    part.ends = true;
    if (!only_leaves(plan, block.target)) return std::nullopt;
  }
  return part;
}

/// One past the last block of a part that begins with block `first`.
std::uint32_t end_of_part(const FunctionPlan& plan, const MaskedPart& part, std::uint32_t first) {
  if (part.loop) return part.branch + 1;
  if (!part.if_taken) return part.join;
  const auto blocks = static_cast<std::uint32_t>(plan.blocks().size());
  std::uint32_t end = first;
  if (part.is_copy) {
    while (end < blocks && plan.origin(end++) != plan.origin(part.branch)) {
    }
    return end;
  }
  // The side that is taken lies behind the branch, up to the first block that leads to the join.
  while (end < blocks && only_next(plan, end++) != part.join) {
  }
  return end;
}

}  // namespace

std::optional<MaskedPart> find_masked_part(const FunctionPlan& plan, std::uint32_t b) {
  const std::uint32_t origin = plan.origin(b), target = plan.blocks()[b].target;
  // Lanes that go on behind the copy of a round go round the loop itself, if no copy follows.
  if (origin != b && plan.blocks()[b].backward && plan.origin(target) == target) {
    return find_masked_part(plan, origin);
  }
  std::optional<MaskedPart> part = begin_of_part(plan, b);
  if (!part) return std::nullopt;
  const auto& blocks = plan.blocks();
  const std::uint32_t first = part->if_taken ? blocks[b].target : blocks[b].next;
  if ((part->loop || part->is_copy) && (!part->if_taken || part->ends)) return std::nullopt;
  const std::uint32_t end = end_of_part(plan, *part, first);
  if (first >= end || !is_closed(plan, *part, first, end)) return std::nullopt;
  for (std::uint32_t at = first; at < end; ++at) {
    part->blocks.push_back(at);
    part->instructions += static_cast<std::int32_t>(blocks[at].size);
    if (part->instructions > kMostInstructions) return std::nullopt;
    for (std::uint32_t i = blocks[at].begin; i < blocks[at].body_end; ++i) {
      for (const std::uint32_t reg : plan.operation(i).out) part->written.insert(reg);
    }
  }
  if (part->loop) part->instructions = 0;
  if (part->ends) {
    part->instructions += static_cast<std::int32_t>(blocks[part->join].size);
  } else {
    part->written.for_each_in_both(plan.live_at_begin(part->join),
                                   [&](std::uint32_t reg) { part->kept.insert(reg); });
  }
  return part;
}

}  // namespace tilescope::emulator::compiled
