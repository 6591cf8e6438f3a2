// mbarrier: barriers that are words of shared memory. Threads arrive and get a token, later they
// ask whether the phase of that token is over. Observers see an atomic access that releases
// (arrive) or acquires (wait). Threads may arrive at, and expect bytes of, barriers of other blocks
// of their cluster; they initialise and wait for those of their own block.
#include <bit>
#include <utility>

#include "emulator/address_space.hpp"
#include "emulator/block.hpp"
#include "emulator/decoder.hpp"
#include "emulator/instructions/operands.hpp"
#include "emulator/mbarrier_word.hpp"
#include "emulator/memory_access.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Flag;
using ptx::Type;

// The action in Code::list[0]; list[1] is the operand behind the address (kNone: none).
enum class Action : std::uint32_t {
  init,
  inval,
  expect,
  complete,
  arrive,
  drop,
  wait,
  wait_parity
};
constexpr std::uint32_t kExpects = 0x100;  ///< flag of an arrival: its operand is bytes to wait for

std::uint64_t operand_of(Context& w, const Code& c, Action action, int lane) {
  if (c.list[1] == kNone) return 1;
  return action == Action::wait ? r64(w, c.list[1])[lane] : r32(w, c.list[1])[lane];
}

bool is_over(const MbarrierWord& word, Action action, std::uint64_t operand) {
  return word.is_over(action == Action::wait ? operand >> 63 : operand);
}

void tell(Context& w, const Block& owner, const MbarrierUse& use) {
  if ((w.events & kProtocol) == 0) return;
  for (const auto& slot : owner.observers()) {
    if ((slot.events & kProtocol) != 0) slot.observer->mbarrier(use);
  }
}

BulkOrigin origin_of(const Context& w, const Code& c, int lane) {
  return {c.id, w.block->rank(), w.warp_index, lane};
}

/// Tells observers of a test: once for all lanes that ask for the same.
void tell_test(Context& w, const Code& c, const LaneTargets& targets, LaneMask passed) {
  const auto action = static_cast<Action>(c.list[0]);
  const auto parity = [&](int lane) {
    const std::uint64_t operand = operand_of(w, c, action, lane);
    return static_cast<std::uint32_t>(action == Action::wait ? operand >> 63 : operand & 1);
  };
  for (LaneMask rest = targets.mask; rest != 0;) {
    const int first = std::countr_zero(rest);
    LaneMask lanes = 0;
    for (LaneMask m = rest; m != 0; m &= m - 1) {
      const int lane = std::countr_zero(m);
      const bool same = targets.host[lane] == targets.host[first] && parity(lane) == parity(first);
      lanes |= same ? LaneMask{1} << lane : 0;
    }
    rest &= ~lanes;
    const MbarrierWord word = MbarrierWord::read(targets.host[first]);
    tell(w, *w.block,
         {.origin = origin_of(w, c, first),
          .action = MbarrierAction::test,
          .offset = static_cast<std::uint32_t>(targets.address[first]),
          .before = word,
          .after = word,
          .lanes = lanes,
          .parity = parity(first),
          .passed = (passed >> first & 1) != 0,
          .by_token = action == Action::wait});
  }
}

/// Somebody waits: bulk copies that would end the phase are made now.
void finish_copies(Context& w, const Code& c, Action action, const std::uint64_t* addresses) {
  AsyncEngine& engine = w.block->engine();
  for (LaneMask m = w.mask; m != 0 && !engine.idle(); m &= m - 1) {
    const int lane = std::countr_zero(m);
    std::uint64_t address = addresses[lane];
    if (c.space == kGenericSpace) address = resolve_generic(address).address;
    const SharedPlace place = shared_place(address, w.block->rank());
    if (place.rank != w.block->rank() || place.offset % 8 != 0) continue;  // a fault, later
    if (w.shared_bytes < 8 || place.offset > w.shared_bytes - 8) continue;
    const MbarrierWord word = MbarrierWord::read(w.shared + place.offset);
    if (is_over(word, action, operand_of(w, c, action, lane))) continue;
    engine.finish_barrier(static_cast<std::uint32_t>(place.offset));
  }
}

void wait(Context& w, const Code& c) {
  std::uint64_t addresses[32];
  lane_addresses(w, c, addresses);
  const auto action = static_cast<Action>(c.list[0]);
  if (!w.block->engine().idle()) finish_copies(w, c, action, addresses);
  const LaneTargets targets =
      resolve_lanes(w, c, addresses, w.mask, c.space, 8, 8, static_cast<AccessKind>(c.access));
  LaneMask done = 0;
  for (LaneMask m = targets.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const MbarrierWord word = MbarrierWord::read(targets.host[lane]);
    if (is_over(word, action, operand_of(w, c, action, lane))) done |= LaneMask{1} << lane;
  }
  std::uint32_t& p = predicate(w, c.dst);
  p = (p & ~w.mask) | done;
  if ((w.events & kProtocol) != 0) tell_test(w, c, targets, done);
}

/// The word after the action.
MbarrierWord changed(MbarrierWord word, Action action, bool expects, std::uint64_t operand) {
  switch (action) {
    case Action::init:
      return MbarrierWord::initial(operand);
    case Action::inval:
      return MbarrierWord();
    case Action::expect:
      word.expect(operand);
      break;
    case Action::complete:
      word.complete(operand);
      break;
    case Action::drop:
    case Action::arrive:
      if (expects) word.expect(std::exchange(operand, 1));
      if (action == Action::arrive) {
        word.arrive(operand);
      } else {
        word.arrive_and_drop(operand);
      }
      break;
    case Action::wait:
    case Action::wait_parity:
      break;
  }
  return word;
}

MbarrierAction protocol_action(Action action) {
  constexpr MbarrierAction actions[] = {MbarrierAction::init,   MbarrierAction::invalidate,
                                        MbarrierAction::expect, MbarrierAction::complete,
                                        MbarrierAction::arrive, MbarrierAction::drop,
                                        MbarrierAction::test,   MbarrierAction::test};
  return actions[static_cast<std::size_t>(action)];
}

/// The event of an action that has changed the word.
MbarrierUse use_of(Context& w, const Code& c, const LaneTargets& targets, int lane,
                   MbarrierWord before, MbarrierWord after) {
  const auto action = static_cast<Action>(c.list[0] & 0xff);
  const auto operand = static_cast<std::uint32_t>(operand_of(w, c, action, lane));
  const bool expects = (c.list[0] & kExpects) != 0;
  const bool arrives = action == Action::arrive || action == Action::drop;
  const bool counts = action == Action::init || (arrives && !expects);
  return {.origin = origin_of(w, c, lane),
          .action = protocol_action(action),
          .offset = static_cast<std::uint32_t>(targets.address[lane]),
          .before = before,
          .after = after,
          .count = counts    ? operand
                   : arrives ? 1
                             : 0,
          .bytes = counts ? 0 : operand};
}

/// A barrier waits for one arrival at least, and for no more than its word can count.
void report_bad_counts(Context& w, const Code& c, LaneMask lanes) {
  for (LaneMask m = lanes; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t count = operand_of(w, c, Action::init, lane);
    if (count >= 1 && count <= MbarrierWord::kMostArrivals) continue;
    w.block->report({.kind = FaultKind::integer_fault,
                     .instruction = c.id,
                     .warp = w.warp_index,
                     .lanes = LaneMask{1} << lane,
                     .space = Space::shared,
                     .access = AccessKind::store,
                     .bytes = 0,
                     .address = count,
                     .object = {},
                     .object_bytes = 0,
                     .distance = 0,
                     .addresses = nullptr});
  }
}

void act(Context& w, const Code& c) {
  std::uint64_t addresses[32];
  lane_addresses(w, c, addresses);
  const auto action = static_cast<Action>(c.list[0] & 0xff);
  const bool expects = (c.list[0] & kExpects) != 0;
  const LaneTargets targets =
      resolve_lanes(w, c, addresses, w.mask, c.space, 8, 8, static_cast<AccessKind>(c.access));
  if (action == Action::init) report_bad_counts(w, c, targets.mask);
  for (LaneMask m = targets.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const MbarrierWord before = MbarrierWord::read(targets.host[lane]);
    const MbarrierWord after = changed(before, action, expects, operand_of(w, c, action, lane));
    after.write(targets.host[lane]);
    w.atomic_changes += before.bits() != after.bits();
    if ((w.events & kProtocol) != 0) {
      const Block* const owner = targets.owner[lane];
      if (owner == nullptr) {
        tell(w, *w.block, use_of(w, c, targets, lane, before, after));
      } else if (!w.block->cluster().exited(owner->rank())) {
        tell(w, *owner, use_of(w, c, targets, lane, before, after));
      }
    }
    if (c.dst != kSinkOffset) r64(w, c.dst)[lane] = before.bits();
  }
}

// The thread's copies have been made already; threads that wait for the barrier may rely on them.
void act_after_copies(Context& w, const Code& c) {
  if ((w.events & kOrder) != 0) {
    const AsyncGroup event{c.id, w.warp_index, w.mask, 0, true};
    for (const auto& slot : w.block->observers()) {
      if ((slot.events & kOrder) != 0) slot.observer->async_group(event);
    }
  }
  act(w, c);
}

void count_pending(Context& w, const Code& c) {
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    r32(w, c.dst)[lane] = static_cast<std::uint32_t>(MbarrierWord(r64(w, c.a)[lane]).pending());
  }
}

/// `at`: which operand is the address; the one behind it is the action's, the one before it the
/// result.
bool decode_action(FunctionDecoder& d, const ptx::Instruction& in, Action action, std::size_t at,
                   Code& code) {
  const auto& operands = in.operands;
  if (in.modifiers.type() != Type::b64 || !set_space(in.modifiers.space, code)) return false;
  const bool waits = action == Action::wait || action == Action::wait_parity;
  const bool weak = action == Action::init || action == Action::inval;
  if (code.space == kClusterSpace && (waits || weak)) return false;
  if (at == 1) code.dst = d.destination(operands[0]);
  const std::uint32_t operand =
      operands.size() <= at + 1 ? kNone : d.source(operands[at + 1], ptx::operand_type(in, at + 1));
  d.set_list(code, {static_cast<std::uint32_t>(action) |
                        (in.modifiers.has(Flag::expect_tx) ? kExpects : 0),
                    operand});
  const MemoryOrder order = weak    ? MemoryOrder::weak
                            : waits ? MemoryOrder::acquire
                                    : MemoryOrder::acquire_release;
  code.order = static_cast<std::uint8_t>(order);
  const Scope scope = scope_of(in.modifiers.scope);
  code.scope = static_cast<std::uint8_t>(weak                   ? Scope::none
                                         : scope == Scope::none ? Scope::block
                                                                : scope);
  code.access = static_cast<std::uint8_t>(weak ? AccessKind::store : AccessKind::atomic);
  code.bytes = 8;
  // Through a generic address too, only the own block's barriers.
  if (code.space == kGenericSpace) code.aux |= kOwnBlock;
  unsigned address_bytes = 8;
  d.address(operands[at], code.space == kGenericSpace, code, address_bytes);
  if (address_bytes == 8) code.aux |= kAddress64;
  code.execute = waits ? wait : act;
  return true;
}

}  // namespace

bool decode_mbarrier_init(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_action(d, in, Action::init, 0, code);
}
bool decode_mbarrier_inval(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_action(d, in, Action::inval, 0, code);
}
bool decode_mbarrier_expect_tx(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_action(d, in, Action::expect, 0, code);
}
bool decode_mbarrier_complete_tx(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_action(d, in, Action::complete, 0, code);
}
bool decode_mbarrier_arrive(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_action(d, in, Action::arrive, 1, code);
}
bool decode_mbarrier_arrive_drop(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_action(d, in, Action::drop, 1, code);
}
bool decode_mbarrier_wait(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const bool parity = in.modifiers.has(Flag::parity);
  return decode_action(d, in, parity ? Action::wait_parity : Action::wait, 1, code);
}
bool decode_mbarrier_pending_count(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  code.dst = d.destination(in.operands[0]);
  code.a = d.source(in.operands[1], Type::b64);
  code.execute = count_pending;
  return in.modifiers.type() == Type::b64;
}
bool decode_copies_arrive(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  if (!decode_action(d, in, Action::arrive, 0, code)) return false;
  // Without .noinc the copies' own arrival was added to the expected ones.
  const std::uint32_t count = in.modifiers.has(Flag::no_inc) ? kNone : d.constant(0, 4);
  d.set_list(code, {static_cast<std::uint32_t>(Action::arrive), count});
  code.execute = act_after_copies;
  return true;
}

}  // namespace tilescope::emulator
