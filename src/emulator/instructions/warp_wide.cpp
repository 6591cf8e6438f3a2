// Warp instructions (shuffles, votes, match, redux, elect) and the operands of barriers.
//
// A collective finds each lane's contribution in Context::exchange (lanes outside exchange_lanes
// hold nothing), and writes the result of the lanes in Context::mask.
#include <bit>
#include <cmath>

#include "emulator/block.hpp"
#include "emulator/decoder.hpp"
#include "emulator/instructions/operands.hpp"
#include "emulator/instructions/shuffle_source.hpp"

namespace tilescope::emulator {
namespace {

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
    const ShuffleSource from = shuffle_source(mode, lane, by[lane], control[lane]);
    if (from.inside) inside |= LaneMask{1} << lane;
    // The value of a lane that does not take part is undefined; here it is 0.
    const bool there = (w.exchange_lanes >> from.lane & 1) != 0;
    d[lane] = there ? static_cast<std::uint32_t>(w.exchange[from.lane]) : 0;
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

// redux of f32. aux: bit 0 the largest, bit 1 of absolute values, bit 2 NaN if any is NaN.
void reduce_real(Context& w, const Code& c) {
  const bool larger = (c.aux & 1) != 0, absolute = (c.aux & 2) != 0, nan = (c.aux & 4) != 0;
  bool any_nan = false, any = false;
  float r = 0;
  for (LaneMask m = w.exchange_lanes & w.members; m != 0; m &= m - 1) {
    auto v = std::bit_cast<float>(static_cast<std::uint32_t>(w.exchange[std::countr_zero(m)]));
    if (absolute) v = std::fabs(v);
    if (std::isnan(v)) {
      any_nan = true;
      continue;
    }
    // -0 is below +0.
    const bool below = v < r || (v == r && std::signbit(v) && !std::signbit(r));
    const bool above = v > r || (v == r && !std::signbit(v) && std::signbit(r));
    if (!any || (larger ? above : below)) r = v;
    any = true;
  }
  const std::uint32_t bits =
      !any || (nan && any_nan) ? 0x7fffffffu : std::bit_cast<std::uint32_t>(r);
  for (LaneMask m = w.mask; m != 0; m &= m - 1) r32(w, c.dst)[std::countr_zero(m)] = bits;
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

/// Decodes every lane's contribution, the member mask, which is operand `mask` of the .sync forms
/// (those without it take the active lanes), and the results.
void decode_collective(FunctionDecoder& d, const ptx::Instruction& in, WarpOperation operation,
                       std::size_t mask, Execute execute, Code& code) {
  code.access = static_cast<std::uint8_t>(operation);
  code.c = in.operands.size() > mask ? d.source(in.operands[mask], Type::b32) : kNone;
  code.execute = execute;
  if (mask == 0) return;
  set_results(d, in.operands[0], code);
  if (mask == 1) return;
  const Type type = ptx::operand_type(in, 1);
  code.a = d.source(in.operands[1], type);
  code.a_flip = in.operands[1].negated ? ~0u : 0u;
  code.bytes = static_cast<std::uint16_t>(d.width(in.operands[1], type));
}

/// A collective of lanes without contributions.
void give_nothing(FunctionDecoder& d, Code& code) {
  code.a = d.constant(0, 4);
  code.bytes = 4;
}

}  // namespace

bool decode_shuffle(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  decode_collective(d, in, WarpOperation::shuffle, 4, shuffle, code);
  d.set_list(code, {d.source(in.operands[2], Type::b32), d.source(in.operands[3], Type::b32)});
  code.aux = static_cast<std::uint32_t>(in.modifiers.shuffle);
  return ptx::bit_width(in.modifiers.type()) == 32;
}

bool decode_vote(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  decode_collective(d, in, WarpOperation::vote, 2, vote, code);
  code.aux = static_cast<std::uint32_t>(in.modifiers.vote);
  const Type result = in.modifiers.vote == ptx::VoteMode::ballot ? Type::b32 : Type::pred;
  return in.modifiers.vote != ptx::VoteMode::none && in.modifiers.type() == result;
}

bool decode_match(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  decode_collective(d, in, WarpOperation::match, 2, match, code);
  code.aux = static_cast<std::uint32_t>(in.modifiers.vote);
  return code.bytes == 4 || code.bytes == 8;
}

bool decode_redux(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const Type type = in.modifiers.type();
  using ptx::Flag;
  if (type == Type::f32) {
    const bool larger = in.modifiers.reduce == ptx::ReduceOp::max;
    decode_collective(d, in, WarpOperation::reduce, 2, reduce_real, code);
    code.aux = (larger ? 1u : 0u) | (in.modifiers.has(Flag::abs) ? 2u : 0u) |
               (in.modifiers.has(Flag::nan) ? 4u : 0u);
    return larger || in.modifiers.reduce == ptx::ReduceOp::min;
  }
  decode_collective(d, in, WarpOperation::reduce, 2, reduce, code);
  code.aux = static_cast<std::uint32_t>(in.modifiers.reduce) | (type == Type::s32 ? 256u : 0u);
  return is_integer(type) && ptx::bit_width(type) == 32;
}

bool decode_elect(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  give_nothing(d, code);
  decode_collective(d, in, WarpOperation::elect, 1, elect, code);
  return true;
}

bool decode_warp_barrier(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  give_nothing(d, code);
  decode_collective(d, in, WarpOperation::sync, 0, meet, code);
  return true;
}

bool decode_activemask(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  code.dst = d.destination(in.operands[0]);
  code.execute = active_mask;
  return true;
}

bool decode_barrier(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const ptx::BarrierKind kind = in.modifiers.barrier;
  const bool reduces = kind == ptx::BarrierKind::red;
  if (kind == ptx::BarrierKind::wait) return false;
  std::size_t i = 0;
  if (reduces) {
    const bool counts = in.modifiers.reduce == ptx::ReduceOp::popc;
    if (in.modifiers.type() != (counts ? Type::u32 : Type::pred)) return false;
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

}  // namespace tilescope::emulator
