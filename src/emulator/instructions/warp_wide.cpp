// Warp instructions (shuffles, votes, match, redux, elect) and the operands of barriers.
//
// A collective finds what each lane contributes in Context::exchange (lanes outside exchange_lanes
// hold nothing), and writes the result of the lanes in Context::mask.
#include <bit>

#include "emulator/block.hpp"
#include "emulator/decoder.hpp"
#include "emulator/instructions/operands.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Opcode;
using ptx::Operand;
using ptx::Type;

void set_lanes(Context& w, std::uint32_t dst, LaneMask value) {
  std::uint32_t& p = predicate(w, dst);
  p = (p & ~w.mask) | (value & w.mask);
}

// list: b (lane or delta), c (clamp and segment mask); aux: the ShuffleMode.
void shuffle(Context& w, const Code& c) {
  const std::uint32_t* by = r32(w, c.list[0]);
  const std::uint32_t* control = r32(w, c.list[1]);
  const auto mode = static_cast<ptx::ShuffleMode>(c.aux);
  std::uint32_t* d = r32(w, c.dst);
  LaneMask inside = 0;
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const int b = static_cast<int>(by[lane] & 31);
    const int clamp = static_cast<int>(control[lane] & 31);
    const int segment = static_cast<int>(control[lane] >> 8 & 31);
    const int last = (lane & segment) | (clamp & ~segment);
    const int first = lane & segment;
    int from = lane;
    bool valid = false;
    switch (mode) {
      case ptx::ShuffleMode::up:
        from = lane - b;
        valid = from >= last;  // for up, the clamp is the lowest lane
        break;
      case ptx::ShuffleMode::down:
        from = lane + b;
        valid = from <= last;
        break;
      case ptx::ShuffleMode::bfly:
        from = lane ^ b;
        valid = from <= last;
        break;
      default:
        from = first | (b & ~segment);
        valid = from <= last;
        break;
    }
    if (!valid) from = lane;
    if (valid) inside |= LaneMask{1} << lane;
    // The value of a lane that does not take part is undefined; ours is 0.
    const bool there = (w.exchange_lanes >> from & 1) != 0;
    d[lane] = there ? static_cast<std::uint32_t>(w.exchange[from]) : 0;
  }
  if (c.dst2 != kSinkOffset) set_lanes(w, c.dst2, inside);
}

LaneMask true_lanes(const Context& w) {
  LaneMask result = 0;
  for (int l = 0; l < kWarpSize; ++l) result |= static_cast<LaneMask>(w.exchange[l] & 1) << l;
  return result & w.exchange_lanes & w.members;
}

void vote(Context& w, const Code& c) {
  const LaneMask held = true_lanes(w), all = w.exchange_lanes & w.members;
  switch (static_cast<ptx::VoteMode>(c.aux)) {
    case ptx::VoteMode::all:
      set_lanes(w, c.dst, held == all ? ~0u : 0u);
      return;
    case ptx::VoteMode::any:
      set_lanes(w, c.dst, held != 0 ? ~0u : 0u);
      return;
    case ptx::VoteMode::uni:
      set_lanes(w, c.dst, held == all || held == 0 ? ~0u : 0u);
      return;
    default:
      for (LaneMask m = w.mask; m != 0; m &= m - 1) r32(w, c.dst)[std::countr_zero(m)] = held;
  }
}

void match(Context& w, const Code& c) {
  const bool all = static_cast<ptx::VoteMode>(c.aux) == ptx::VoteMode::all;
  const LaneMask there = w.exchange_lanes & w.members;
  LaneMask agree = 0;
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    LaneMask same = 0;
    for (int l = 0; l < kWarpSize; ++l) {
      if ((there >> l & 1) != 0 && w.exchange[l] == w.exchange[lane]) same |= LaneMask{1} << l;
    }
    if (same == there) agree |= LaneMask{1} << lane;
    r32(w, c.dst)[lane] = all ? (same == there ? there : 0) : same;
  }
  if (all && c.dst2 != kSinkOffset) set_lanes(w, c.dst2, agree);
}

// aux: the ReduceOp, bit 8: signed.
void reduce(Context& w, const Code& c) {
  const LaneMask there = w.exchange_lanes & w.members;
  const bool is_signed = (c.aux & 256) != 0;
  bool first = true;
  std::uint32_t r = 0;
  for (LaneMask m = there; m != 0; m &= m - 1) {
    const auto v = static_cast<std::uint32_t>(w.exchange[std::countr_zero(m)]);
    const bool less =
        is_signed ? static_cast<std::int32_t>(v) < static_cast<std::int32_t>(r) : v < r;
    if (first) {
      r = v;
      first = false;
      continue;
    }
    switch (static_cast<ptx::ReduceOp>(c.aux & 255)) {
      case ptx::ReduceOp::add:
        r += v;
        break;
      case ptx::ReduceOp::min:
        r = less ? v : r;
        break;
      case ptx::ReduceOp::max:
        r = less || v == r ? r : v;
        break;
      case ptx::ReduceOp::and_:
        r &= v;
        break;
      case ptx::ReduceOp::or_:
        r |= v;
        break;
      default:
        r ^= v;
        break;
    }
  }
  for (LaneMask m = w.mask; m != 0; m &= m - 1) r32(w, c.dst)[std::countr_zero(m)] = r;
}

void elect(Context& w, const Code& c) {
  const LaneMask there = w.exchange_lanes & w.members;
  const auto leader = static_cast<std::uint32_t>(there == 0 ? 0 : std::countr_zero(there));
  for (LaneMask m = w.mask; m != 0; m &= m - 1) r32(w, c.dst)[std::countr_zero(m)] = leader;
  set_lanes(w, c.dst2, LaneMask{1} << leader);
}

void meet(Context&, const Code&) {}

void active_mask(Context& w, const Code& c) {
  for (LaneMask m = w.mask; m != 0; m &= m - 1) r32(w, c.dst)[std::countr_zero(m)] = w.mask;
}

void results(FunctionDecoder& d, const Operand& operand, Code& code) {
  if (operand.kind == Operand::Kind::pair) {
    code.dst = d.destination(operand.elements[0]);
    code.dst2 = d.destination(operand.elements[1]);
  } else {
    code.dst = d.destination(operand);
  }
}

void contributes(FunctionDecoder& d, const Operand& operand, Type type, Code& code) {
  code.a = d.source(operand, type);
  code.a_flip = operand.negated ? ~0u : 0u;
  code.bytes = static_cast<std::uint16_t>(d.width(operand, type));
}

/// The member mask is the last operand of the .sync forms; those without it take the active lanes.
void members(FunctionDecoder& d, const ptx::Instruction& in, std::size_t index, Code& code) {
  code.c = in.operands.size() > index ? d.source(in.operands[index], Type::b32) : kNone;
}

bool decode_shuffle(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  if (ptx::bit_width(in.modifiers.type()) != 32) return false;
  results(d, in.operands[0], code);
  contributes(d, in.operands[1], Type::b32, code);
  if (code.bytes != 4) return false;
  d.set_list(code, {d.source(in.operands[2], Type::b32), d.source(in.operands[3], Type::b32)});
  code.aux = static_cast<std::uint32_t>(in.modifiers.shuffle);
  members(d, in, 4, code);
  code.execute = shuffle;
  return true;
}

bool decode_vote(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  results(d, in.operands[0], code);
  contributes(d, in.operands[1], Type::pred, code);
  if (code.bytes != 0) return false;
  code.aux = static_cast<std::uint32_t>(in.modifiers.vote);
  members(d, in, 2, code);
  code.execute = vote;
  return true;
}

bool decode_barrier(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const ptx::BarrierKind kind = in.modifiers.barrier;
  const bool reduces = kind == ptx::BarrierKind::red;
  if (kind == ptx::BarrierKind::wait) return false;
  std::size_t i = 0;
  if (reduces) {
    code.dst = d.destination(in.operands[i++]);
    code.aux = static_cast<std::uint32_t>(in.modifiers.reduce);
  }
  code.a = d.source(in.operands[i++], Type::u32);
  // The thread count is optional, and comes before the predicate.
  const std::size_t left = in.operands.size() - i - (reduces ? 1 : 0);
  code.b = left > 0 ? d.source(in.operands[i++], Type::u32) : kNone;
  if (reduces) {
    code.c = d.source(in.operands[i], Type::pred);
    code.c_flip = in.operands[i].negated ? ~0u : 0u;
  }
  const BarrierOperation operation = reduces                            ? BarrierOperation::reduce
                                     : kind == ptx::BarrierKind::arrive ? BarrierOperation::arrive
                                                                        : BarrierOperation::sync;
  code.access = static_cast<std::uint8_t>(operation);
  return operation != BarrierOperation::arrive || code.b != kNone;
}

}  // namespace

bool decode_warp(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  switch (in.opcode) {
    case Opcode::shfl:
      return decode_shuffle(d, in, code);
    case Opcode::vote:
      return decode_vote(d, in, code);
    case Opcode::match:
      results(d, in.operands[0], code);
      contributes(d, in.operands[1], in.modifiers.type(), code);
      code.aux = static_cast<std::uint32_t>(in.modifiers.vote);
      members(d, in, 2, code);
      code.execute = match;
      return code.bytes == 4 || code.bytes == 8;
    case Opcode::redux:
      if (!is_integer(in.modifiers.type())) return false;
      results(d, in.operands[0], code);
      contributes(d, in.operands[1], in.modifiers.type(), code);
      code.aux = static_cast<std::uint32_t>(in.modifiers.reduce) |
                 (in.modifiers.type() == Type::s32 ? 256u : 0u);
      members(d, in, 2, code);
      code.execute = reduce;
      return true;
    case Opcode::elect:
      results(d, in.operands[0], code);
      code.a = d.constant(0, 4);
      code.bytes = 4;
      members(d, in, 1, code);
      code.execute = elect;
      return true;
    case Opcode::bar_warp_sync:
      code.a = d.constant(0, 4);
      code.bytes = 4;
      members(d, in, 0, code);
      code.execute = meet;
      return true;
    case Opcode::bar:
    case Opcode::barrier:
      return decode_barrier(d, in, code);
    case Opcode::activemask:
      code.dst = d.destination(in.operands[0]);
      code.execute = active_mask;
      return true;
    default:
      return false;
  }
}

}  // namespace tilescope::emulator
